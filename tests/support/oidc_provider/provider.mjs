// A real OpenID provider for tests: npm's `oidc-provider`. Whoever comes is signed in at once, as the
// account that the test has set. It prints its issuer, and ends with its standard input.
//
//   POST /control  {account, claims, redirect, codeSeconds, refuse, idToken, rotate}
//   POST /sign     {claims}: a token with these claims, signed by the present key

import { createServer } from "node:http";
import { exportJWK, generateKeyPair, importJWK, SignJWT, decodeJwt } from "jose";
import { Provider } from "oidc-provider";

const SCOPES = "read write admin";
const state = { account: "ada", claims: {}, redirect: "http://127.0.0.1/", codeSeconds: 60, refuse: null, idToken: null };
let key;
let provider;

const newKey = async () => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  key = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), use: "sig", alg: "RS256" };
};

const sign = async (claims) => {
  const header = { alg: "RS256", kid: key.kid };
  return new SignJWT(claims).setProtectedHeader(header).sign(await importJWK(key, "RS256"));
};

const build = (issuer) => {
  provider = new Provider(issuer, {
    clients: [{ client_id: "bearinmind", client_secret: "a secret of this test: %&", redirect_uris: [state.redirect],
      post_logout_redirect_uris: [new URL("/", state.redirect).href] }],
    jwks: { keys: [key] },
    cookies: { keys: ["tests"] },
    scopes: ["openid", "email", "offline_access", ...SCOPES.split(" ")],
    claims: { openid: ["sub"], email: ["email", "email_verified", "groups"] },
    pkce: { required: () => true },
    ttl: { AuthorizationCode: () => state.codeSeconds, AccessToken: 600, IdToken: 600, Interaction: 600, Session: 600, Grant: 600 },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx, resource) => ({ scope: SCOPES, audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
        useGrantedResource: () => true,
      },
    },
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...state.claims }) }),
    extraTokenClaims: () => state.claims,
    loadExistingGrant: async (ctx) => {
      const { client, account, params } = ctx.oidc;
      const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: account.accountId });
      grant.addOIDCScope(`openid email offline_access ${SCOPES}`);
      if (params.resource) grant.addResourceScope(params.resource, SCOPES);
      await grant.save();
      return grant;
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (state.idToken && ctx.body?.id_token) {
      ctx.body.id_token = await sign({ ...decodeJwt(ctx.body.id_token), ...state.idToken });
    }
  });
};

const told = async (request) => {
  let text = "";
  for await (const part of request) text += part;
  return JSON.parse(text);
};

const server = createServer(async (request, response) => {
  if (request.url === "/control") {
    const { rotate, ...changes } = await told(request);
    Object.assign(state, changes);
    if (rotate) await newKey();
    build(provider.issuer);
    response.end("{}");
  } else if (request.url === "/sign") {
    response.end(JSON.stringify({ token: await sign((await told(request)).claims) }));
  } else if (request.url.startsWith("/interaction/")) {
    const result = state.refuse ? { error: state.refuse } : { login: { accountId: state.account }, consent: {} };
    await provider.interactionFinished(request, response, result);
  } else {
    provider.callback()(request, response);
  }
});
await newKey();
server.listen(0, "127.0.0.1", () => {
  build(`http://127.0.0.1:${server.address().port}`);
  console.log(provider.issuer);
});
process.stdin.on("end", () => process.exit()).resume();
