// Made by generate.py from the OpenAPI of the server: `make typescript` makes it again.

/** What a key lets its bearer do; each includes those before it. */
export type Access = "read" | "write" | "admin";

/** A session of an agent, by what was remembered in it. */
export interface AgentSession {
  session: string;
  project: string | null;
  agent: string | null;
  first: string;
  last: string;
  memories: number;
}

/** The sessions of agents, the latest first. */
export interface AgentSessionsAnswer {
  sessions: (AgentSession)[];
}

/** A name that was merged into a concept. */
export interface AliasRequest {
  /** A name, in any case. */
  alias: string;
}

/** The same content was stored before, and was not stored again. */
export interface AlreadyKnown {
  kind: "already_known";
  memory: Memory;
  may_replace?: (MayReplace)[];
}

/** A proposal, and for one of the kind `outdate` which of two memories holds. */
export interface ApplyBody {
  /** Who decides: `agent` for an agent, else a person. */
  trust?: Trust | null;
  /** Without it the newer one holds. */
  resolution?: Resolution | null;
}

/** Which state of a thing a question asks for, by its words. */
export type Asks = "now" | "then" | "when" | "none";

/** What was done, youngest first. */
export interface AuditAnswer {
  entries: (AuditEntry)[];
}

/** An entry of the audit: who did what, and when. */
export interface AuditEntry {
  at: string;
  owner: string;
  action: string;
  id: string | null;
  version: number | null;
  agent: string | null;
  key?: string | null;
  detail?: string | null;
}

/** Enough better memories were found. */
export interface BelowLimit {
  kind: "below_limit";
  limit: number;
  text: string;
}

/** What a session should begin with, the weightiest first. */
export interface BriefAnswer {
  memories: (Memory)[];
  as_data: (string)[];
}

/** The spans of time in which memories are counted. */
export type Bucket = "day" | "week" | "month";

/** An entity or idea that recurs across memories. */
export interface Concept {
  name: string;
  label: string;
  kind: Kind;
  memories: number;
  subjects: number;
  aliases?: (string)[];
}

/** A concept with its memories and its relations, past ones included. */
export interface ConceptAnswer {
  concept: Concept;
  relations: (Relation)[];
  others: (Concept)[];
  memories: (Memory)[];
  as_data: (string)[];
}

/** Two memories of which one may have replaced the other; nobody has decided which holds. */
export interface Conflict {
  newer: string;
  older: string;
  probability: number;
  because: string;
}

/** The terms of a new key. */
export interface CreateKeyRequest {
  /** The name of a user. */
  user: string;
  access?: Access;
  label?: string;
  expires_at?: string | null;
  per_minute?: number | null;
  per_day?: number | null;
}

/** Jobs that were given up, the youngest first. */
export interface DeadAnswer {
  jobs: (DeadJob)[];
}

/** A job of background work that was given up. */
export interface DeadJob {
  kind: string;
  target: string;
  owner: string;
  memory: string;
  attempts: number;
  error: string | null;
}

/** Who or what decided that one memory outdates another; the later in this list prevails. */
export type Decider = "scorer" | "model" | "agent" | "person";

/** A memory that was deleted, and what became of those that it had superseded. */
export interface Deleted {
  id: string;
  owner: string;
  content: string;
  category: string;
  tags: (string)[];
  keywords: (string)[];
  importance: number;
  sensitive: boolean;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
  valid_from: string | null;
  valid_to: string | null;
  provenance: Provenance;
  version: number;
  live_again?: (string)[];
  deleted_too?: (string)[];
}

/** How many live memories were made when. */
export interface Density {
  bucket: Bucket;
  spans: (DensitySpan)[];
}

/** How many memories were made in a span of time. */
export interface DensitySpan {
  start: string;
  memories: number;
  categories: Record<string, number>;
}

/** A proposal, and who decides on it. */
export interface DismissBody {
  /** Who decides: `agent` for an agent, else a person. */
  trust?: Trust | null;
}

/** Something to remember. */
export interface DraftRequest {
  content: string;
  category?: string | null;
  tags?: (string)[];
  keywords?: (string)[];
  importance?: number | null;
  sensitive?: boolean;
  created_at?: string | null;
  valid_from?: string | null;
  valid_to?: string | null;
  agent?: string | null;
  session?: string | null;
  project?: string | null;
  source?: string | null;
  trust?: Trust | null;
  supersedes?: (string)[];
}

/** A candidate that was left out, and why. */
export interface Dropped {
  id: string;
  reason: Superseded | Expired | NotAskedFor | bearinmind__trace__Gone | SaysTheSame | Unlikely | BelowLimit | OverBudget;
}

/** An earlier state of what a hit states. */
export interface EarlierState {
  memory: Memory;
  outdated: Outdated;
}

/** One step from a concept to another. */
export interface Edge {
  source: string;
  target: string;
  relations: (Relation)[];
  memories: (string)[];
  known: number;
}

/** A user, and how many memories the plan said they have: it is refused if that has changed. */
export interface EraseBody {
  memories: number;
}

/** What erasing a user removes for good, or has removed. */
export interface Erasure {
  user: string;
  held: Record<string, number>;
  pseudonym: string;
  erased?: boolean;
  traces_may_remain?: boolean;
}

/** Its valid-from / valid-to span does not hold the moment asked about. */
export interface Expired {
  kind: "expired";
  text: string;
}

/** Which memories of a scope are meant; honoured inside the store. */
export interface Filter {
  scope: Scope;
  reader?: string | null;
  now: string;
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string | null;
  created_to?: string | null;
  session?: string | null;
  project?: string | null;
  agent?: string | null;
  as_of?: string | null;
  states?: (State)[];
}

/** A memory after fusion: one score, and where every leg placed it. */
export interface Fused {
  id: string;
  score: number;
  placings: Record<string, Placing>;
}

/** A memory with its past and its links; of another user's memory neither is seen. */
export interface GetAnswer {
  memory: Memory;
  state: State;
  outdated?: Outdated | null;
  earlier: (Memory)[];
  links: (Link)[];
  as_data: (string)[];
}

/** How hits that are states of one thing are given. */
export type Group = "states" | "off";

/** The states of a thing: chains, each from the oldest to the present one. */
export interface HistoryAnswer {
  thing: string;
  chains: ((ThingState)[])[];
  as_data: (string)[];
}

/** A recalled memory with everything that brought it here. */
export interface Hit {
  memory: Memory;
  rank: number;
  score: number;
  placings: Record<string, Placing>;
  factors: Record<string, number>;
  reranked?: Reranked | null;
  replaces?: (string)[];
  attached?: (Memory)[];
  pointers?: (Pointer)[];
  path?: (bearinmind__types__Step)[];
  probability?: number;
  earlier?: (EarlierState)[];
  outdated?: Outdated | null;
}

/** Concepts, the one that most memories mention first. */
export interface HubsAnswer {
  concepts: (Concept)[];
}

/** A candidate after adjustment. */
export interface Judged {
  id: string;
  score: number;
  fused: number;
  placings: Record<string, Placing>;
  factors: Record<string, number>;
  reranked?: Reranked | null;
}

/** Why one memory is taken to outdate another, or is known not to. */
export interface Judgement {
  probability: number;
  by: Decider;
  thing?: string;
  aspect?: string;
  evidence?: (string)[];
}

/** A bearer key; the secret itself is known to its bearer alone. */
export interface Key {
  id: string;
  user: string;
  access: Access;
  label?: string;
  created_at: string;
  expires_at?: string | null;
  revoked_at?: string | null;
  per_minute?: number | null;
  per_day?: number | null;
}

/** Keys, without what makes them keys. */
export interface KeysAnswer {
  keys: (Key)[];
  writes_today: Record<string, number>;
}

/** What a concept is, as far as an extractor can tell. */
export type Kind = "name" | "person" | "place" | "organisation" | "work" | "event" | "identifier" | "host" | "topic";

/** A vector space of a store, and how far it is filled. */
export interface KnownSpace {
  space: Space;
  state: SpaceState;
  embedded: number;
  waiting: number;
  dead: number;
}

/** The messages of a turn, oldest first, and where they were said. */
export interface LearnRequest {
  messages: (MessageRequest)[];
  agent?: string | null;
  session?: string | null;
  project?: string | null;
  /** Keep nothing: only say what would be learned. */
  dry_run?: boolean;
}

/** The lessons of a turn, and what became of each. */
export interface Learned {
  mode: Mode;
  read_by: string;
  dry_run?: boolean;
  stored?: (LearnedItem)[];
  proposed?: (LearnedItem)[];
  known?: (LearnedItem)[];
  refused?: (bearinmind__learn__model__Refused)[];
  notes?: (string)[];
}

/** What became of one lesson of a turn. */
export interface LearnedItem {
  text: string;
  lesson: Lesson;
  category: string;
  id?: string | null;
  reason?: string;
}

/** Where one leg placed a memory that was not recalled. */
export interface LegPosition {
  leg: string;
  rank: number | null;
  searched: number;
  note: string;
  score?: number | null;
  confidence?: number | null;
  evidence?: number | null;
  path?: (bearinmind__types__Step)[];
}

/** How one leg did. */
export interface LegReport {
  leg: string;
  found: number;
  milliseconds: number;
  detail?: Record<string, unknown>;
  floor?: number;
  error?: string | null;
  partial?: string | null;
}

/** The kind of a lesson. */
export type Lesson = "correction" | "preference" | "decision" | "fact" | "person" | "update";

/** A typed, directed edge between two memories. */
export interface Link {
  source: string;
  target: string;
  kind: LinkKind;
  created_at: string;
  removed_at?: string | null;
  judgement?: Judgement | null;
}

/** The closed set of links between memories, read "source KIND target". */
export type LinkKind = "supersedes" | "resolved-by" | "part-of" | "see-also" | "derives-from" | "causes" | "outdates";

/** Two memories and what one is to the other, read "source KIND target". */
export interface LinkRequest {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  source: string;
  kind: LinkKind;
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  target: string;
}

/** A page of memories. */
export interface ListAnswer {
  memories: (Memory)[];
  states: Record<string, State>;
  outdated?: Record<string, Outdated>;
  as_data: (string)[];
  next: string | null;
}

/** An earlier memory that a stored one may outdate: `resolve` settles it. */
export interface MayReplace {
  memory: Memory;
  newer: string;
  probability: number;
  because: string;
}

/** One version of the single stored unit: bounded text and what is known about it. */
export interface Memory {
  id: string;
  owner: string;
  content: string;
  category: string;
  tags: (string)[];
  keywords: (string)[];
  importance: number;
  sensitive: boolean;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
  valid_from: string | null;
  valid_to: string | null;
  provenance: Provenance;
  version: number;
}

/** What a memory mentions, and the relations that it is evidence for. */
export interface MemoryCard {
  id: string;
  concepts: Record<string, (Concept)[]>;
  relations: (Relation)[];
}

/** Two concepts that are taken for one, until that is undone. */
export interface Merge {
  alias: string;
  into: string;
  reason: string;
  score: number;
  merged_at: string;
  undone_at?: string | null;
}

/** Two names that are taken for one concept. */
export interface MergeRequest {
  /** A name, in any case. */
  alias: string;
  /** A name, in any case. */
  into: string;
  reason?: string;
}

/** The merges that hold, oldest first. */
export interface MergesAnswer {
  merges: (Merge)[];
}

/** A message of a turn; only those of users and assistants are learned from. */
export interface MessageRequest {
  role: RoleInput;
  text: string;
}

/** How turns are read, and what becomes of their lessons. */
export type Mode = "off" | "inbox" | "rules" | "model";

/** A concept one step away, and what joins the two. */
export interface Neighbour {
  concept: Concept;
  relations: (Relation)[];
  memories: (string)[];
}

/** What is one step away from a concept. */
export interface Neighbours {
  concept: Concept;
  found: (Neighbour)[];
  left_out: number;
  partly: boolean;
}

/** What is one step away from a concept, with a memory for each step. */
export interface NeighboursAnswer {
  neighbours: Neighbours;
  memories: (Memory)[];
  as_data: (string)[];
}

/** A key that was just made, with its text, which is shown once. */
export interface NewKey {
  key: Key;
  text: string;
}

/** Two memories, what one is to the other, and who says so. */
export interface NewLinkRequest {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  source: string;
  kind: LinkKind;
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  target: string;
  /** Who decides: `user` for a person, else an agent. */
  trust?: Trust;
}

/** It is in a state that the query does not ask for. */
export interface NotAskedFor {
  kind: "not_asked_for";
  state: State;
  text: string;
}

/** A draft that was refused, and why. */
export interface NotStored {
  kind: "not_stored";
  code: string;
  message: string;
  hint: string;
}

/** That a memory is outdated, by which one, and since when. */
export interface Outdated {
  by: string;
  until: string;
  probability: number;
  decided_by: Decider;
}

/** It did not fit whole into what was left of the budget. */
export interface OverBudget {
  kind: "over_budget";
  size: number;
  left: number;
  text: string;
}

/** How many versions of memories a user has in the index. */
export interface OwnerSize {
  owner: string;
  versions: number;
}

/** What a model read with the question: hits, and two memories of which one is current. */
export interface PairsRead {
  pairs: number;
  milliseconds: number;
  error?: string | null;
}

/** A way from a concept to another; without steps there is none, or the two are one. */
export interface PathAnswer {
  start: Concept;
  goal: Concept;
  steps: (Edge)[];
  concepts: (Concept)[];
  memories: (Memory)[];
  as_data: (string)[];
}

/** Where one leg placed a memory. */
export interface Placing {
  rank: number;
  score: number;
  confidence: number;
  evidence?: number;
}

/** A one-line mention of a linked memory. */
export interface Pointer {
  id: string;
  kind: LinkKind;
  outgoing: boolean;
  line: string;
}

/** A change that somebody is to decide on; once decided it is the record of what was done. */
export interface Proposal {
  id: string;
  kind: ProposalKind;
  origin: string;
  memories: (string)[];
  reason: string;
  evidence?: Record<string, unknown>;
  change?: Record<string, unknown>;
  digest: string;
  created_at: string;
  state?: ProposalState;
  decided_at?: string | null;
  undo?: Record<string, unknown>;
}

/** What a proposal would do. */
export type ProposalKind = "store" | "supersede" | "update" | "link" | "unlink" | "outdate" | "expire" | "review";

/** What became of a proposal. */
export type ProposalState = "open" | "applied" | "dismissed" | "undone";

/** Proposals, those that were made or decided last first. */
export interface ProposalsAnswer {
  proposals: (Proposal)[];
  memories: (Memory)[];
  as_data: (string)[];
}

/** Where a memory came from. */
export interface Provenance {
  agent?: string | null;
  session?: string | null;
  project?: string | null;
  source?: string | null;
  trust?: Trust;
}

/** What a purge removes for good. */
export interface PurgePlan {
  memories: (Memory)[];
  versions: number;
  links: number;
}

/** Deleted memories, and what the plan said of them: it is refused if that has changed. */
export interface PurgeRequest {
  ids: (string)[];
  versions: number;
  links: number;
}

/** What was removed for good. */
export interface Purged {
  plan: PurgePlan;
  traces_may_remain: boolean;
}

/** A question put to the memory, as the caller gave it. */
export interface Query {
  text: string;
  filter: Filter;
  expanded?: (string)[];
  focus?: (string)[];
  limit?: number;
  pool?: number;
  sort_by?: SortBy;
  budget_bytes?: number | null;
  group?: Group;
  min_probability?: number | null;
  all?: boolean;
  leg_weights?: Record<string, number>;
  decay_days?: Record<string, number>;
}

/** What the words of a question say about time. */
export interface QuestionTime {
  asks?: Asks;
  span?: Span | null;
  words?: (string)[];
}

/** The memories that matter for a question, best first, and whether they answer it. */
export interface RecallAnswer {
  query: string;
  verdict: Verdict;
  hits: (Hit)[];
  weak?: (Hit)[];
  conflicts?: (Conflict)[];
  degraded: (string)[];
  as_data: (string)[];
  understood?: Query | null;
  trace?: Trace | null;
}

/** A question, perhaps with how it was answered. */
export interface RecallRequest {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string | null;
  created_to?: string | null;
  session?: string | null;
  project?: string | null;
  agent?: string | null;
  as_of?: string | null;
  states?: (State)[];
  query: string;
  expanded?: (string)[];
  focus?: (string)[];
  limit?: number | null;
  pool?: number | null;
  sort_by?: SortBy | null;
  budget_bytes?: number | null;
  /** `off` gives every state of a thing as a hit of its own. */
  group?: Group | null;
  /** The least probability of a hit, in place of the usual one. */
  min_probability?: number | null;
  /** Also hits that are unlikely to answer. */
  all?: boolean | null;
  /** By leg (lexical, dense, graph), in place of the setting; 0 turns it off. */
  leg_weights?: Record<string, number>;
  /** By category: after how many days a score has faded to 1/e. */
  decay_days?: Record<string, number>;
  trace?: boolean;
}

/** Why a sentence that looks worth keeping is not kept. */
export type Refusal = "question" | "supposed" | "pasted" | "reported" | "one-off" | "vague" | "too long" | "secret" | "unsupported";

/** A typed, directed edge between two concepts, with the memories that say so. */
export interface Relation {
  number: number;
  source: string;
  type: string;
  target: string;
  weight: number;
  valid_from: string | null;
  valid_to: string | null;
  recorded_at: string;
  retracted_at: string | null;
  origin: string;
  evidence: (string)[];
}

/** A key, and for how long it stays good beside the new one. */
export interface RenewKeyBody {
  overlap_hours?: number;
}

/** For how long the key stays good beside the new one. */
export interface RenewMyKeyRequest {
  overlap_hours?: number;
}

/** A benchmark report in the folder of the setting `reports`. */
export interface Report {
  name: string;
  bytes: number;
  written_at: string;
}

/** Benchmark reports, the youngest first. */
export interface ReportsAnswer {
  reports: (Report)[];
}

/** How the reranker did. */
export interface RerankReport {
  model: string;
  recipe: string;
  sent: number;
  withheld: number;
  milliseconds: number;
  error?: string | null;
}

/** What a reranker made of a candidate. */
export interface Reranked {
  before: number;
  after: number;
  score: number;
  blend: number;
}

/** What somebody says of a memory beside an earlier one. */
export type Resolution = "newer" | "older" | "both" | "merge";

/** What a memory is to others: to those named, else to all that it may replace. */
export interface ResolveBody {
  resolution: Resolution;
  other?: (string)[];
  /** Who decides: `user` for a person, else an agent. */
  trust?: Trust | null;
}

/** What was decided about a memory beside others. */
export interface Resolved {
  id: string;
  resolution: Resolution;
  links: (Link)[];
}

/** How many jobs are tried again. */
export interface Retried {
  jobs: number;
}

/** What a review found. */
export interface Review {
  memories: number;
  by_meaning: boolean;
  proposals: (Proposal)[];
  known?: (string)[];
  trouble?: string;
  judged?: (Link)[];
}

/** How the memories are reviewed. */
export interface ReviewRequest {
  /** Put what is new into the inbox. */
  propose?: boolean;
  /** Only what was written since then. */
  since?: string | null;
  /** Ask the configured model about doubtful pairs: it costs. */
  ask?: boolean;
}

/** What somebody may do with a memory that was shared with them. */
export type Right = "read" | "write";

/** The author of a message. Nothing is learned from tools or from the system. */
export type RoleInput = "user" | "assistant" | "tool" | "system";

/** What a memory does with a concept. */
export type RoleOutput = "subject" | "name" | "tag" | "keyword";

/** A better placed memory has the same words, or nearly. */
export interface SaysTheSame {
  kind: "says_the_same";
  by: string;
  shared?: number;
  text: string;
}

/** Whose memories are read and written; no store can be asked anything without one. */
export interface Scope {
  user: string;
}

/** What a sensitive memory says. */
export interface SecretAnswer {
  id: string;
  content: string;
}

/** What a sensitive memory says. */
export interface SecretBody {
  version?: number | null;
}

/** An owner lets another user see memories: one, or as a live rule all with a tag. */
export interface Share {
  owner: string;
  reader: string;
  right: Right;
  memory?: string | null;
  tag?: string | null;
  created_at: string;
  ended_at?: string | null;
}

/** A memory, and with whom to share it. */
export interface ShareBody {
  right?: Right;
}

/** A tag, and with whom to share all memories that have it or will have it. */
export interface ShareTagBody {
  right?: Right;
}

/** What is shared. */
export interface SharesAnswer {
  shares: (Share)[];
}

/** How large a store is, and whose that is. */
export interface Sizes {
  facts: StoreFacts;
  owners: (OwnerSize)[];
}

/** The order in which the memories chosen by relevance are presented. */
export type SortBy = "relevance" | "importance" | "recency";

/** A vector space: what made the vectors in it. Those of two spaces are never compared. */
export interface Space {
  model: string;
  revision: string;
  dimensions: number;
  query_prompt?: string;
  memory_prompt?: string;
  text?: string;
}

/** What a vector space is for. */
export type SpaceState = "active" | "filling" | "retired";

/** A stretch of time. */
export interface Span {
  start: string | null;
  end: string;
}

/** The state of a memory at a moment. */
export type State = "live" | "superseded" | "expired" | "deleted";

/** What a scope holds. */
export interface Statistics {
  live: number;
  superseded: number;
  expired: number;
  deleted: number;
  earlier_versions: number;
  links: number;
  categories: Record<string, number>;
  tags: Record<string, number>;
  oldest: string | null;
  newest: string | null;
  not_yet_valid?: number;
  shared?: number;
  sharers?: number;
}

/** The spans of time in which a server counts. */
export type StepInput = "minute" | "hour";

/** Something to remember, once. */
export interface StoreBody {
  content: string;
  category?: string | null;
  tags?: (string)[];
  keywords?: (string)[];
  importance?: number | null;
  sensitive?: boolean;
  created_at?: string | null;
  valid_from?: string | null;
  valid_to?: string | null;
  agent?: string | null;
  session?: string | null;
  project?: string | null;
  source?: string | null;
  trust?: Trust | null;
  supersedes?: (string)[];
  wait?: boolean;
}

/** The size of a store, and the software that it runs on. */
export interface StoreFacts {
  bytes: number | null;
  versions: Record<string, string>;
}

/** What became of each draft, in their order. */
export interface StoreManyAnswer {
  outcomes: (Stored | AlreadyKnown | NotStored)[];
}

/** Things to remember, each stored by itself. */
export interface StoreManyBody {
  drafts: (DraftRequest)[];
}

/** The memory was new and is now durable. */
export interface Stored {
  kind: "stored";
  memory: Memory;
  may_replace?: (MayReplace)[];
}

/** Concepts around a centre, and everything that joins any two of them. */
export interface Subgraph {
  centre: Concept;
  concepts: (Concept)[];
  relations: (Relation)[];
  together: (Together)[];
  left_out: number;
}

/** A newer memory supersedes it. */
export interface Superseded {
  kind: "superseded";
  by: string;
  served: boolean;
  text: string;
}

/** One state of a thing: what held, from when until when. */
export interface ThingState {
  memory: Memory;
  since: string | null;
  until?: string | null;
  outdated?: Outdated | null;
}

/** What was remembered around a moment, oldest first. */
export interface TimelineAnswer {
  moment: string;
  anchor: Memory | null;
  before: (Memory)[];
  after: (Memory)[];
  states: Record<string, State>;
  outdated?: Record<string, Outdated>;
  as_data: (string)[];
}

/** Two concepts and the memories that mention both. */
export interface Together {
  one: string;
  other: string;
  memories: (string)[];
}

/** The full record of how a recall found its answer. */
export interface Trace {
  legs: (LegReport)[];
  fusion: string;
  adjustments: string;
  selection: string;
  fused: (Fused)[];
  judged: (Judged)[];
  dropped: (Dropped)[];
  milliseconds: Record<string, number>;
  rerank?: RerankReport | null;
  read?: PairsRead | null;
  paths?: Record<string, (bearinmind__types__Step)[]>;
  time?: QuestionTime;
  floor?: number;
  locked_out?: (string)[];
  degraded: (string)[];
}

/** How often something was done, in steps of a minute or an hour. */
export interface Traffic {
  step: bearinmind__protocols__store__Step;
  since: string;
  points: (TrafficPoint)[];
}

/** What was counted in the minute or the hour that begins at `start`. */
export interface TrafficPoint {
  start: string;
  requests?: number;
  recalls?: number;
  stores?: number;
  errors?: number;
}

/** How far a reader may rely on the text of a memory. */
export type Trust = "user" | "agent" | "external";

/** Why there is no semantic recall just now. */
export interface Unavailable {
  reason: string;
  hint?: string;
  expected?: boolean;
}

/** It hardly answers the query, and is folded away. */
export interface Unlikely {
  kind: "unlikely";
  probability: number;
  floor: number;
  text: string;
}

/** The concept that is separate again. */
export interface UnmergeAnswer {
  name: string;
}

/** What is to change about a memory; what is not said stays. */
export interface UpdateBody {
  content?: string | null;
  category?: string | null;
  tags?: (string)[] | null;
  keywords?: (string)[] | null;
  importance?: number | null;
  sensitive?: boolean | null;
  valid_from?: string | null;
  valid_to?: string | null;
  always_valid?: boolean;
  /** Whose the change is; a lower trust changes no more trusted content. */
  trust?: Trust | null;
}

/** A user of a server. */
export interface User {
  name: string;
  created_at: string;
  disabled_at?: string | null;
}

/** A user. */
export interface UserRequest {
  /** The name of a user. */
  name: string;
}

/** What was counted of one user. */
export interface UserTraffic {
  user: string;
  requests?: number;
  recalls?: number;
  stores?: number;
  errors?: number;
}

/** Every user whom the server knows. */
export interface UsersAnswer {
  users: (User)[];
}

/** Whether what is stored answers a query. */
export type Verdict = "found" | "perhaps" | "nothing";

/** How often everybody did something, in all and each. */
export interface WholeTraffic {
  step: bearinmind__protocols__store__Step;
  since: string;
  points: (TrafficPoint)[];
  users: (UserTraffic)[];
}

/** What led to a memory. */
export interface WhyAnswer {
  memory: Memory;
  versions: (Memory)[];
  steps: (bearinmind__recall__history__Step)[];
  superseded_by: (Memory)[];
  outdated?: Record<string, Outdated>;
  as_data: (string)[];
}

/** Why a memory was not recalled, and the smallest change that would have admitted it. */
export interface WhyNot {
  id: string;
  rank: number | null;
  reason: string;
  positions?: (LegPosition)[];
  remedy?: string;
}

/** Why a memory is not in the answer to a question. */
export interface WhyNotRequest {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string | null;
  created_to?: string | null;
  session?: string | null;
  project?: string | null;
  agent?: string | null;
  as_of?: string | null;
  states?: (State)[];
  query: string;
  expanded?: (string)[];
  focus?: (string)[];
  limit?: number | null;
  pool?: number | null;
  sort_by?: SortBy | null;
  budget_bytes?: number | null;
  /** `off` gives every state of a thing as a hit of its own. */
  group?: Group | null;
  /** The least probability of a hit, in place of the usual one. */
  min_probability?: number | null;
  /** Also hits that are unlikely to answer. */
  all?: boolean | null;
  /** By leg (lexical, dense, graph), in place of the setting; 0 turns it off. */
  leg_weights?: Record<string, number>;
  /** By category: after how many days a score has faded to 1/e. */
  decay_days?: Record<string, number>;
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
}

/** How many jobs of a kind are in a state. */
export interface WorkCount {
  kind: string;
  target: string;
  state: WorkState;
  jobs: number;
  last_error: string | null;
}

/** The state of a job. */
export type WorkState = "waiting" | "running" | "dead";

/** The vector spaces of a store, its extractor and its queue. */
export interface WorkStatus {
  spaces: (KnownSpace)[];
  queue: (WorkCount)[];
  next_due: string | null;
  extractor?: string;
  meaning_off?: Unavailable | null;
}

/** A sentence that is not kept. */
export interface bearinmind__learn__model__Refused {
  said: string;
  reason: Refusal;
}

/** The spans of time in which a server counts. */
export type bearinmind__protocols__store__Step = "minute" | "hour";

/** One step back along the provenance of a memory. */
export interface bearinmind__recall__history__Step {
  depth: number;
  link: Link;
  memory: Memory;
}

/** It was deleted or changed while it was being recalled. */
export interface bearinmind__trace__Gone {
  kind: "gone";
  text: string;
}

/** One step through the concept graph, from a memory or the query to a memory. */
export interface bearinmind__types__Step {
  source: string | null;
  concept: string;
  role: string;
  target: string;
}

/** Remember something. */
export type StoreCall = StoreBody & {
  /** Any text of your own. Sent again with the same memory, it is stored once. */
  idempotency_key?: string;
};

/** Remember several things; a refused one does not stop the others. */
export type StoreManyCall = StoreManyBody & {
  /** Any text of your own. Sent again with the same memory, it is stored once. */
  idempotency_key?: string;
};

/** The memories that matter for a question, best first. */
export type RecallCall = RecallRequest;

/** Why a memory is not in the answer to a question, and what would have let it in. */
export type WhyNotCall = WhyNotRequest;

/** Memories by creation time, yours and those shared with you. */
export type ListCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  owner?: string;
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
  newest_first?: boolean;
  /** The most important first, of those the newest; such a list has no next. */
  by_importance?: boolean;
};

/** One memory with its earlier versions and its links. */
export type GetCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Change a memory; the version before is kept. */
export type UpdateCall = UpdateBody & {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
  /** The ETag of the memory: it is changed only if it is still that version. */
  expected_version?: number;
};

/** Hide a memory from recall; it can be restored. */
export type DeleteCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
  /** Delete what it superseded, too, which would be live again otherwise. */
  with_earlier?: boolean;
  /** The ETag of the memory: it is changed only if it is still that version. */
  expected_version?: number;
};

/** Bring a deleted memory back. */
export type RestoreCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Link two memories. */
export type LinkCall = NewLinkRequest;

/** End a link. */
export type UnlinkCall = LinkRequest;

/** Decide which of two memories holds now, that both do, or that the later one replaces the earlier. */
export type ResolveCall = ResolveBody & {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** The states of a thing in order, from when until when each held. */
export type HistoryCall = {
  thing: string;
  /** The most chains of states. */
  limit?: number;
};

/** What led to a memory. */
export type WhyCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
  depth?: number;
};

/** What was remembered before and after a memory or a moment. */
export type TimelineCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  owner?: string;
  /** The id of a memory, or a moment in ISO 8601. */
  around: string;
  before?: number;
  after?: number;
};

/** Counts of your memories, and of what others share with you. */
export type StatsCall = Record<string, never>;

/** What a sensitive memory says; each time is written to the audit log. */
export type SecretsRevealCall = SecretBody & {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Let another user see a memory, or change it. */
export type ShareCall = ShareBody & {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
  /** The name of a user. */
  reader: string;
};

/** End the share of a memory. */
export type UnshareCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
  /** The name of a user. */
  reader: string;
};

/** Let another user see all memories with a tag, now and from now on. */
export type ShareTagCall = ShareTagBody & {
  tag: string;
  /** The name of a user. */
  reader: string;
};

/** End the share of a tag. */
export type UnshareTagCall = {
  tag: string;
  /** The name of a user. */
  reader: string;
};

/** What other users share with you. */
export type SharedWithMeCall = Record<string, never>;

/** What you share with other users. */
export type MySharesCall = Record<string, never>;

/** The concepts that most memories mention, perhaps only those with a text in the name. */
export type GraphHubsCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  limit?: number;
  containing?: string;
};

/** What is one step away from a concept. */
export type GraphNeighboursCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  /** A name, in any case. */
  concept: string;
  limit?: number;
};

/** A concept with its memories and its relations, past ones included. */
export type GraphConceptCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  /** A name, in any case. */
  concept: string;
  limit?: number;
};

/** The concepts within some steps of one, and what joins them. */
export type GraphSubgraphCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  /** A name, in any case. */
  centre: string;
  hops?: number;
  limit?: number;
};

/** The shortest way from a concept to another, over relations and shared memories. */
export type GraphPathCall = {
  categories?: (string)[];
  tags?: (string)[];
  created_from?: string;
  created_to?: string;
  session?: string;
  project?: string;
  agent?: string;
  as_of?: string;
  states?: (State)[];
  /** A name, in any case. */
  start: string;
  /** A name, in any case. */
  goal: string;
  longest?: number;
};

/** What a memory mentions, and the relations that it is evidence for. */
export type GraphOfMemoryCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Which names are taken for one concept. */
export type GraphMergesCall = {
  /** Also those that were undone. */
  undone?: boolean;
};

/** Treat a concept as another one; it can be undone. */
export type GraphMergeCall = MergeRequest;

/** Undo a merge. */
export type GraphUnmergeCall = AliasRequest;

/** Learn preferences, decisions and corrections from what was said in a turn. */
export type LearnCall = LearnRequest;

/** What a session should begin with, for a project or at all. */
export type BriefCall = {
  project?: string;
  session?: string;
  query?: string;
  limit?: number;
  budget_bytes?: number;
};

/** What purging deleted memories would remove for good. */
export type PlanPurgeCall = {
  ids: (string)[];
};

/** Remove deleted memories for good, as planned; this cannot be undone. */
export type PurgeCall = PurgeRequest;

/** How many of your memories were made when, by category. */
export type ServerDensityCall = {
  bucket?: Bucket;
};

/** The sessions of agents in which your memories were made, the latest first. */
export type ServerAgentSessionsCall = {
  limit?: number;
};

/** Your requests, recalls, stores and errors on the server over time. */
export type ServerTrafficCall = {
  step?: StepInput;
};

/** Your keys, and how much of their quotas is used today. */
export type AccountsMyKeysCall = Record<string, never>;

/** Make a key in place of the one that you use, which stays good for a while. */
export type AccountsRenewMyKeyCall = RenewMyKeyRequest;

/** Revoke one of your keys. */
export type AccountsRevokeMyKeyCall = {
  /** The id of a key. */
  id: string;
};

/** What was done with your secrets, shares and keys, youngest first. */
export type AccountsMyAuditCall = {
  limit?: number;
};

/** Review all memories for what could be tidied up, perhaps into the inbox. */
export type CurationReviewCall = ReviewRequest;

/** What waits for a decision, or was decided. */
export type CurationProposalsCall = {
  states?: (ProposalState)[];
  limit?: number;
};

/** One proposal. */
export type CurationProposalCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Do what a proposal says, or say which of two memories holds; it can be undone. */
export type CurationApplyCall = ApplyBody & {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Decide against a proposal; it is not made again. */
export type CurationDismissCall = DismissBody & {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Take back what a proposal did. */
export type CurationUndoCall = {
  /** An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`. */
  id: string;
};

/** Everybody's requests, recalls, stores and errors over time. */
export type ServerWholeTrafficCall = {
  step?: StepInput;
};

/** What erasing a user would remove for good. */
export type AccountsPlanErasureCall = {
  /** The name of a user. */
  name: string;
};

/** Remove everything of a user for good, as planned; this cannot be undone. */
export type AccountsEraseUserCall = EraseBody & {
  /** The name of a user. */
  name: string;
};

/** What everybody shares. */
export type ServerSharesCall = Record<string, never>;

/** How large the store is, and who has how much. */
export type ServerSizesCall = Record<string, never>;

/** The benchmark reports that the server can show. */
export type ServerReportsCall = Record<string, never>;

/** How far background work is. */
export type WorkStatusCall = Record<string, never>;

/** The jobs of background work that were given up, and why. */
export type WorkDeadCall = {
  limit?: number;
};

/** Try again the jobs of background work that were given up. */
export type WorkRetryDeadCall = Record<string, never>;

/** Every user whom the server knows. */
export type AccountsUsersCall = Record<string, never>;

/** Add a user. */
export type AccountsAddUserCall = UserRequest;

/** Stop letting a user in; their memories and keys stay. */
export type AccountsDisableUserCall = {
  /** The name of a user. */
  name: string;
};

/** Let a user in again. */
export type AccountsEnableUserCall = {
  /** The name of a user. */
  name: string;
};

/** The keys of a user, or of everybody. */
export type AccountsKeysCall = {
  user?: string;
};

/** Make a key; its text is seen only in this answer. */
export type AccountsCreateKeyCall = CreateKeyRequest;

/** Make a key with the terms of another one, which stays good for a while. */
export type AccountsRenewKeyCall = RenewKeyBody & {
  /** The id of a key. */
  id: string;
};

/** Revoke a key. */
export type AccountsRevokeKeyCall = {
  /** The id of a key. */
  id: string;
};

/** What was done with secrets, shares, users and keys, youngest first. */
export type AccountsAuditCall = {
  limit?: number;
};

/** How each verb is asked for over HTTP. */
export const OPERATIONS: Record<string, Operation> = {
  "store": {"method": "POST", "path": "/memories", "query": [], "headers": {"Idempotency-Key": "idempotency_key"}, "repeatable": false},
  "store_many": {"method": "POST", "path": "/store-many", "query": [], "headers": {"Idempotency-Key": "idempotency_key"}, "repeatable": false},
  "recall": {"method": "POST", "path": "/recall", "query": [], "headers": {}, "repeatable": true},
  "why_not": {"method": "POST", "path": "/why-not", "query": [], "headers": {}, "repeatable": true},
  "list": {"method": "GET", "path": "/memories", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "owner", "limit", "after", "newest_first", "by_importance"], "headers": {}, "repeatable": true},
  "get": {"method": "GET", "path": "/memories/{id}", "query": [], "headers": {}, "repeatable": true},
  "update": {"method": "PATCH", "path": "/memories/{id}", "query": [], "headers": {"If-Match": "expected_version"}, "repeatable": false},
  "delete": {"method": "DELETE", "path": "/memories/{id}", "query": ["with_earlier"], "headers": {"If-Match": "expected_version"}, "repeatable": true},
  "restore": {"method": "POST", "path": "/memories/{id}/restore", "query": [], "headers": {}, "repeatable": false},
  "link": {"method": "POST", "path": "/links", "query": [], "headers": {}, "repeatable": false},
  "unlink": {"method": "POST", "path": "/links/end", "query": [], "headers": {}, "repeatable": false},
  "resolve": {"method": "POST", "path": "/memories/{id}/resolve", "query": [], "headers": {}, "repeatable": false},
  "history": {"method": "GET", "path": "/history", "query": ["thing", "limit"], "headers": {}, "repeatable": true},
  "why": {"method": "GET", "path": "/memories/{id}/why", "query": ["depth"], "headers": {}, "repeatable": true},
  "timeline": {"method": "GET", "path": "/timeline", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "owner", "around", "before", "after"], "headers": {}, "repeatable": true},
  "stats": {"method": "GET", "path": "/stats", "query": [], "headers": {}, "repeatable": true},
  "secrets.reveal": {"method": "POST", "path": "/memories/{id}/secret", "query": [], "headers": {}, "repeatable": false},
  "share": {"method": "PUT", "path": "/memories/{id}/shares/{reader}", "query": [], "headers": {}, "repeatable": true},
  "unshare": {"method": "DELETE", "path": "/memories/{id}/shares/{reader}", "query": [], "headers": {}, "repeatable": true},
  "share_tag": {"method": "PUT", "path": "/tags/{tag}/shares/{reader}", "query": [], "headers": {}, "repeatable": true},
  "unshare_tag": {"method": "DELETE", "path": "/tags/{tag}/shares/{reader}", "query": [], "headers": {}, "repeatable": true},
  "shared_with_me": {"method": "GET", "path": "/shares/with-me", "query": [], "headers": {}, "repeatable": true},
  "my_shares": {"method": "GET", "path": "/shares", "query": [], "headers": {}, "repeatable": true},
  "graph.hubs": {"method": "GET", "path": "/graph/hubs", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "limit", "containing"], "headers": {}, "repeatable": true},
  "graph.neighbours": {"method": "GET", "path": "/graph/neighbours", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "concept", "limit"], "headers": {}, "repeatable": true},
  "graph.concept": {"method": "GET", "path": "/graph/concept", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "concept", "limit"], "headers": {}, "repeatable": true},
  "graph.subgraph": {"method": "GET", "path": "/graph/around", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "centre", "hops", "limit"], "headers": {}, "repeatable": true},
  "graph.path": {"method": "GET", "path": "/graph/path", "query": ["categories", "tags", "created_from", "created_to", "session", "project", "agent", "as_of", "states", "start", "goal", "longest"], "headers": {}, "repeatable": true},
  "graph.of_memory": {"method": "GET", "path": "/memories/{id}/concepts", "query": [], "headers": {}, "repeatable": true},
  "graph.merges": {"method": "GET", "path": "/graph/merges", "query": ["undone"], "headers": {}, "repeatable": true},
  "graph.merge": {"method": "POST", "path": "/graph/merges", "query": [], "headers": {}, "repeatable": false},
  "graph.unmerge": {"method": "POST", "path": "/graph/merges/end", "query": [], "headers": {}, "repeatable": false},
  "learn": {"method": "POST", "path": "/learn", "query": [], "headers": {}, "repeatable": false},
  "brief": {"method": "GET", "path": "/brief", "query": ["project", "session", "query", "limit", "budget_bytes"], "headers": {}, "repeatable": true},
  "plan_purge": {"method": "GET", "path": "/purge", "query": ["ids"], "headers": {}, "repeatable": true},
  "purge": {"method": "POST", "path": "/purge", "query": [], "headers": {}, "repeatable": false},
  "server.density": {"method": "GET", "path": "/density", "query": ["bucket"], "headers": {}, "repeatable": true},
  "server.agent_sessions": {"method": "GET", "path": "/sessions", "query": ["limit"], "headers": {}, "repeatable": true},
  "server.traffic": {"method": "GET", "path": "/traffic", "query": ["step"], "headers": {}, "repeatable": true},
  "accounts.my_keys": {"method": "GET", "path": "/me/keys", "query": [], "headers": {}, "repeatable": true},
  "accounts.renew_my_key": {"method": "POST", "path": "/me/key/renew", "query": [], "headers": {}, "repeatable": false},
  "accounts.revoke_my_key": {"method": "DELETE", "path": "/me/keys/{id}", "query": [], "headers": {}, "repeatable": true},
  "accounts.my_audit": {"method": "GET", "path": "/me/audit", "query": ["limit"], "headers": {}, "repeatable": true},
  "curation.review": {"method": "POST", "path": "/curation/review", "query": [], "headers": {}, "repeatable": false},
  "curation.proposals": {"method": "GET", "path": "/proposals", "query": ["states", "limit"], "headers": {}, "repeatable": true},
  "curation.proposal": {"method": "GET", "path": "/proposals/{id}", "query": [], "headers": {}, "repeatable": true},
  "curation.apply": {"method": "POST", "path": "/proposals/{id}/apply", "query": [], "headers": {}, "repeatable": false},
  "curation.dismiss": {"method": "POST", "path": "/proposals/{id}/dismiss", "query": [], "headers": {}, "repeatable": false},
  "curation.undo": {"method": "POST", "path": "/proposals/{id}/undo", "query": [], "headers": {}, "repeatable": false},
  "server.whole_traffic": {"method": "GET", "path": "/traffic/all", "query": ["step"], "headers": {}, "repeatable": true},
  "accounts.plan_erasure": {"method": "GET", "path": "/users/{name}/erasure", "query": [], "headers": {}, "repeatable": true},
  "accounts.erase_user": {"method": "POST", "path": "/users/{name}/erasure", "query": [], "headers": {}, "repeatable": false},
  "server.shares": {"method": "GET", "path": "/shares/all", "query": [], "headers": {}, "repeatable": true},
  "server.sizes": {"method": "GET", "path": "/sizes", "query": [], "headers": {}, "repeatable": true},
  "server.reports": {"method": "GET", "path": "/reports", "query": [], "headers": {}, "repeatable": true},
  "work.status": {"method": "GET", "path": "/work", "query": [], "headers": {}, "repeatable": true},
  "work.dead": {"method": "GET", "path": "/work/dead", "query": ["limit"], "headers": {}, "repeatable": true},
  "work.retry_dead": {"method": "POST", "path": "/work/retry", "query": [], "headers": {}, "repeatable": false},
  "accounts.users": {"method": "GET", "path": "/users", "query": [], "headers": {}, "repeatable": true},
  "accounts.add_user": {"method": "POST", "path": "/users", "query": [], "headers": {}, "repeatable": false},
  "accounts.disable_user": {"method": "POST", "path": "/users/{name}/disable", "query": [], "headers": {}, "repeatable": false},
  "accounts.enable_user": {"method": "POST", "path": "/users/{name}/enable", "query": [], "headers": {}, "repeatable": false},
  "accounts.keys": {"method": "GET", "path": "/keys", "query": ["user"], "headers": {}, "repeatable": true},
  "accounts.create_key": {"method": "POST", "path": "/keys", "query": [], "headers": {}, "repeatable": false},
  "accounts.renew_key": {"method": "POST", "path": "/keys/{id}/renew", "query": [], "headers": {}, "repeatable": false},
  "accounts.revoke_key": {"method": "DELETE", "path": "/keys/{id}", "query": [], "headers": {}, "repeatable": true},
  "accounts.audit": {"method": "GET", "path": "/audit", "query": ["limit"], "headers": {}, "repeatable": true},
};

export interface Operation {
  method: string;
  path: string;
  query: string[];
  headers: Record<string, string>;
  repeatable: boolean;
}

/** Errors that last until somebody sees to it. */
export const LASTING: readonly string[] = ["seal_broken", "store_damaged", "store_full", "store_read_only", "store_too_new", "store_unfinished", "vault_failure", "vault_key_exposed", "vault_key_missing", "vault_key_unavailable"];

/** Errors by which a server turns a call away. */
export const TURNED_AWAY: readonly string[] = ["later", "quota_used_up", "server_overloaded", "store_busy", "too_many_requests"];

/** A method for every verb; `call` asks the server. */
export abstract class Verbs {
  protected abstract call<Answer>(name: string, request: object): Promise<Answer>;
  /** Remember something. */
  store(request: StoreCall): Promise<Stored | AlreadyKnown> {
    return this.call("store", request);
  }
  /** Remember several things; a refused one does not stop the others. */
  storeMany(request: StoreManyCall): Promise<StoreManyAnswer> {
    return this.call("store_many", request);
  }
  /** The memories that matter for a question, best first. */
  recall(request: RecallCall): Promise<RecallAnswer> {
    return this.call("recall", request);
  }
  /** Why a memory is not in the answer to a question, and what would have let it in. */
  whyNot(request: WhyNotCall): Promise<WhyNot> {
    return this.call("why_not", request);
  }
  /** Memories by creation time, yours and those shared with you. */
  list(request: ListCall = {}): Promise<ListAnswer> {
    return this.call("list", request);
  }
  /** One memory with its earlier versions and its links. */
  get(request: GetCall): Promise<GetAnswer> {
    return this.call("get", request);
  }
  /** Change a memory; the version before is kept. */
  update(request: UpdateCall): Promise<Memory> {
    return this.call("update", request);
  }
  /** Hide a memory from recall; it can be restored. */
  delete(request: DeleteCall): Promise<Deleted> {
    return this.call("delete", request);
  }
  /** Bring a deleted memory back. */
  restore(request: RestoreCall): Promise<Memory> {
    return this.call("restore", request);
  }
  /** Link two memories. */
  link(request: LinkCall): Promise<Link> {
    return this.call("link", request);
  }
  /** End a link. */
  unlink(request: UnlinkCall): Promise<Link> {
    return this.call("unlink", request);
  }
  /** Decide which of two memories holds now, that both do, or that the later one replaces the earlier. */
  resolve(request: ResolveCall): Promise<Resolved> {
    return this.call("resolve", request);
  }
  /** The states of a thing in order, from when until when each held. */
  history(request: HistoryCall): Promise<HistoryAnswer> {
    return this.call("history", request);
  }
  /** What led to a memory. */
  why(request: WhyCall): Promise<WhyAnswer> {
    return this.call("why", request);
  }
  /** What was remembered before and after a memory or a moment. */
  timeline(request: TimelineCall): Promise<TimelineAnswer> {
    return this.call("timeline", request);
  }
  /** Counts of your memories, and of what others share with you. */
  stats(request: StatsCall = {}): Promise<Statistics> {
    return this.call("stats", request);
  }
  /** Let another user see a memory, or change it. */
  share(request: ShareCall): Promise<Share> {
    return this.call("share", request);
  }
  /** End the share of a memory. */
  unshare(request: UnshareCall): Promise<Share> {
    return this.call("unshare", request);
  }
  /** Let another user see all memories with a tag, now and from now on. */
  shareTag(request: ShareTagCall): Promise<Share> {
    return this.call("share_tag", request);
  }
  /** End the share of a tag. */
  unshareTag(request: UnshareTagCall): Promise<Share> {
    return this.call("unshare_tag", request);
  }
  /** What other users share with you. */
  sharedWithMe(request: SharedWithMeCall = {}): Promise<SharesAnswer> {
    return this.call("shared_with_me", request);
  }
  /** What you share with other users. */
  myShares(request: MySharesCall = {}): Promise<SharesAnswer> {
    return this.call("my_shares", request);
  }
  /** Learn preferences, decisions and corrections from what was said in a turn. */
  learn(request: LearnCall): Promise<Learned> {
    return this.call("learn", request);
  }
  /** What a session should begin with, for a project or at all. */
  brief(request: BriefCall = {}): Promise<BriefAnswer> {
    return this.call("brief", request);
  }
  /** What purging deleted memories would remove for good. */
  planPurge(request: PlanPurgeCall): Promise<PurgePlan> {
    return this.call("plan_purge", request);
  }
  /** Remove deleted memories for good, as planned; this cannot be undone. */
  purge(request: PurgeCall): Promise<Purged> {
    return this.call("purge", request);
  }
  /** The verbs of secrets. */
  get secrets() {
    const call = <Answer>(name: string, request: object): Promise<Answer> =>
      this.call<Answer>(name, request);
    return {
      /** What a sensitive memory says; each time is written to the audit log. */
      reveal(request: SecretsRevealCall): Promise<SecretAnswer> {
        return call("secrets.reveal", request);
      },
    };
  }
  /** The verbs of graph. */
  get graph() {
    const call = <Answer>(name: string, request: object): Promise<Answer> =>
      this.call<Answer>(name, request);
    return {
      /** The concepts that most memories mention, perhaps only those with a text in the name. */
      hubs(request: GraphHubsCall = {}): Promise<HubsAnswer> {
        return call("graph.hubs", request);
      },
      /** What is one step away from a concept. */
      neighbours(request: GraphNeighboursCall): Promise<NeighboursAnswer> {
        return call("graph.neighbours", request);
      },
      /** A concept with its memories and its relations, past ones included. */
      concept(request: GraphConceptCall): Promise<ConceptAnswer> {
        return call("graph.concept", request);
      },
      /** The concepts within some steps of one, and what joins them. */
      subgraph(request: GraphSubgraphCall): Promise<Subgraph> {
        return call("graph.subgraph", request);
      },
      /** The shortest way from a concept to another, over relations and shared memories. */
      path(request: GraphPathCall): Promise<PathAnswer> {
        return call("graph.path", request);
      },
      /** What a memory mentions, and the relations that it is evidence for. */
      ofMemory(request: GraphOfMemoryCall): Promise<MemoryCard> {
        return call("graph.of_memory", request);
      },
      /** Which names are taken for one concept. */
      merges(request: GraphMergesCall = {}): Promise<MergesAnswer> {
        return call("graph.merges", request);
      },
      /** Treat a concept as another one; it can be undone. */
      merge(request: GraphMergeCall): Promise<Merge> {
        return call("graph.merge", request);
      },
      /** Undo a merge. */
      unmerge(request: GraphUnmergeCall): Promise<UnmergeAnswer> {
        return call("graph.unmerge", request);
      },
    };
  }
  /** The verbs of server. */
  get server() {
    const call = <Answer>(name: string, request: object): Promise<Answer> =>
      this.call<Answer>(name, request);
    return {
      /** How many of your memories were made when, by category. */
      density(request: ServerDensityCall = {}): Promise<Density> {
        return call("server.density", request);
      },
      /** The sessions of agents in which your memories were made, the latest first. */
      agentSessions(request: ServerAgentSessionsCall = {}): Promise<AgentSessionsAnswer> {
        return call("server.agent_sessions", request);
      },
      /** Your requests, recalls, stores and errors on the server over time. */
      traffic(request: ServerTrafficCall = {}): Promise<Traffic> {
        return call("server.traffic", request);
      },
      /** Everybody's requests, recalls, stores and errors over time. */
      wholeTraffic(request: ServerWholeTrafficCall = {}): Promise<WholeTraffic> {
        return call("server.whole_traffic", request);
      },
      /** What everybody shares. */
      shares(request: ServerSharesCall = {}): Promise<SharesAnswer> {
        return call("server.shares", request);
      },
      /** How large the store is, and who has how much. */
      sizes(request: ServerSizesCall = {}): Promise<Sizes> {
        return call("server.sizes", request);
      },
      /** The benchmark reports that the server can show. */
      reports(request: ServerReportsCall = {}): Promise<ReportsAnswer> {
        return call("server.reports", request);
      },
    };
  }
  /** The verbs of accounts. */
  get accounts() {
    const call = <Answer>(name: string, request: object): Promise<Answer> =>
      this.call<Answer>(name, request);
    return {
      /** Your keys, and how much of their quotas is used today. */
      myKeys(request: AccountsMyKeysCall = {}): Promise<KeysAnswer> {
        return call("accounts.my_keys", request);
      },
      /** Make a key in place of the one that you use, which stays good for a while. */
      renewMyKey(request: AccountsRenewMyKeyCall = {}): Promise<NewKey> {
        return call("accounts.renew_my_key", request);
      },
      /** Revoke one of your keys. */
      revokeMyKey(request: AccountsRevokeMyKeyCall): Promise<Key> {
        return call("accounts.revoke_my_key", request);
      },
      /** What was done with your secrets, shares and keys, youngest first. */
      myAudit(request: AccountsMyAuditCall = {}): Promise<AuditAnswer> {
        return call("accounts.my_audit", request);
      },
      /** What erasing a user would remove for good. */
      planErasure(request: AccountsPlanErasureCall): Promise<Erasure> {
        return call("accounts.plan_erasure", request);
      },
      /** Remove everything of a user for good, as planned; this cannot be undone. */
      eraseUser(request: AccountsEraseUserCall): Promise<Erasure> {
        return call("accounts.erase_user", request);
      },
      /** Every user whom the server knows. */
      users(request: AccountsUsersCall = {}): Promise<UsersAnswer> {
        return call("accounts.users", request);
      },
      /** Add a user. */
      addUser(request: AccountsAddUserCall): Promise<User> {
        return call("accounts.add_user", request);
      },
      /** Stop letting a user in; their memories and keys stay. */
      disableUser(request: AccountsDisableUserCall): Promise<User> {
        return call("accounts.disable_user", request);
      },
      /** Let a user in again. */
      enableUser(request: AccountsEnableUserCall): Promise<User> {
        return call("accounts.enable_user", request);
      },
      /** The keys of a user, or of everybody. */
      keys(request: AccountsKeysCall = {}): Promise<KeysAnswer> {
        return call("accounts.keys", request);
      },
      /** Make a key; its text is seen only in this answer. */
      createKey(request: AccountsCreateKeyCall): Promise<NewKey> {
        return call("accounts.create_key", request);
      },
      /** Make a key with the terms of another one, which stays good for a while. */
      renewKey(request: AccountsRenewKeyCall): Promise<NewKey> {
        return call("accounts.renew_key", request);
      },
      /** Revoke a key. */
      revokeKey(request: AccountsRevokeKeyCall): Promise<Key> {
        return call("accounts.revoke_key", request);
      },
      /** What was done with secrets, shares, users and keys, youngest first. */
      audit(request: AccountsAuditCall = {}): Promise<AuditAnswer> {
        return call("accounts.audit", request);
      },
    };
  }
  /** The verbs of curation. */
  get curation() {
    const call = <Answer>(name: string, request: object): Promise<Answer> =>
      this.call<Answer>(name, request);
    return {
      /** Review all memories for what could be tidied up, perhaps into the inbox. */
      review(request: CurationReviewCall = {}): Promise<Review> {
        return call("curation.review", request);
      },
      /** What waits for a decision, or was decided. */
      proposals(request: CurationProposalsCall = {}): Promise<ProposalsAnswer> {
        return call("curation.proposals", request);
      },
      /** One proposal. */
      proposal(request: CurationProposalCall): Promise<Proposal> {
        return call("curation.proposal", request);
      },
      /** Do what a proposal says, or say which of two memories holds; it can be undone. */
      apply(request: CurationApplyCall): Promise<Proposal> {
        return call("curation.apply", request);
      },
      /** Decide against a proposal; it is not made again. */
      dismiss(request: CurationDismissCall): Promise<Proposal> {
        return call("curation.dismiss", request);
      },
      /** Take back what a proposal did. */
      undo(request: CurationUndoCall): Promise<Proposal> {
        return call("curation.undo", request);
      },
    };
  }
  /** The verbs of work. */
  get work() {
    const call = <Answer>(name: string, request: object): Promise<Answer> =>
      this.call<Answer>(name, request);
    return {
      /** How far background work is. */
      status(request: WorkStatusCall = {}): Promise<WorkStatus> {
        return call("work.status", request);
      },
      /** The jobs of background work that were given up, and why. */
      dead(request: WorkDeadCall = {}): Promise<DeadAnswer> {
        return call("work.dead", request);
      },
      /** Try again the jobs of background work that were given up. */
      retryDead(request: WorkRetryDeadCall = {}): Promise<Retried> {
        return call("work.retry_dead", request);
      },
    };
  }
}
