{{- define "bearinmind.name" -}}
{{- if contains "bearinmind" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-bearinmind{{ end }}
{{- end }}

{{- define "bearinmind.database" -}}
{{ include "bearinmind.name" . }}-db
{{- end }}

{{- define "bearinmind.labels" -}}
{{ include "bearinmind.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "bearinmind.selector" -}}
app.kubernetes.io/name: bearinmind
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bearinmind.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* The pod of a program: what every one of ours may, and may not. */ -}}
{{- define "bearinmind.pod" -}}
serviceAccountName: {{ include "bearinmind.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: data # caches alone: the memories are in the database
    emptyDir:
      sizeLimit: 1Gi
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "bearinmind.container" -}}
image: {{ include "bearinmind.image" . }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
{{- with .Values.secretSettings }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
env:
  - name: BEARINMIND_STORE
    valueFrom:
      secretKeyRef:
        name: {{ if .Values.database.enabled }}{{ include "bearinmind.database" . }}-app{{ else }}{{ required "database.secret names the secret that has the URL of the database" .Values.database.secret }}{{ end }}
        key: {{ .Values.database.key }}
  {{- if and .Values.database.enabled .Values.database.recallsFromReplica (gt (int .Values.database.instances) 1) }}
  - name: PGPASSWORD # of the replica, whose address has none
    valueFrom:
      secretKeyRef:
        name: {{ include "bearinmind.database" . }}-app
        key: password
  - name: BEARINMIND_REPLICA
    value: postgresql://bearinmind@{{ include "bearinmind.database" . }}-ro:5432/bearinmind
  {{- end }}
  - name: BEARINMIND_VAULT_KEY
    valueFrom:
      secretKeyRef:
        name: {{ .Values.vault.secret }}
        key: {{ .Values.vault.key }}
  - name: BEARINMIND_SERVER_URL
    value: {{ .Values.url | quote }}
  - name: BEARINMIND_SERVER_HOSTS # under which the probes and Prometheus ask
    value: "*"
  {{- range $name, $value := .Values.settings }}
  - name: BEARINMIND_{{ upper $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}
