"""OpenID providers, and the people whom they vouch for: who is let in, and as which user.

A provider publishes keys, signs tokens, and gives a token for the code of a sign-in. PyJWT checks
signatures and claims. Nothing of a token, a code or a secret is part of a message.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import httpx
import jwt

from bearinmind.accounts.keys import Caller
from bearinmind.errors import NotAllowed, NotAuthenticated, ProviderFailure, UserExists
from bearinmind.protocols import User
from bearinmind.text.addresses import is_loopback, is_safe
from bearinmind.types import Access, UserId

Claims = Mapping[str, Any]

#: What a provider signs with a key that it alone has. A shared secret would sign for both sides.
_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_REQUIRED = ["iss", "sub", "aud", "exp"]
_LEEWAY = 30  # seconds that two clocks may differ
_PATIENCE = 5.0  # seconds for an answer: somebody waits for it
_MOST_BYTES = 1_000_000  # of an answer
_PAUSE = 10.0  # seconds after a failure in which the provider is not asked again
_FRESH = 300.0  # seconds after which the keys are read again, so that a withdrawn one is not taken
_STALE = 3_600.0  # seconds for which they are taken while the provider does not answer
_RENEWED = 30.0  # seconds between two readings because of a key that is not known
_AGAIN = "Sign in again."
_GRANT = "Sign in again: a code is good once, and for a short time."


class Attempt(NamedTuple):
    """What a browser keeps from the beginning of a sign-in to its end."""

    state: str
    nonce: str
    verifier: str


class Provider:
    """A provider, known by its issuer. Safe to share among threads."""

    def __init__(self, issuer: str, *, ticks: Callable[[], float] = time.monotonic) -> None:
        """Nothing is asked before something is needed."""
        self.issuer = issuer
        self.client_id = ""  #: of this server; empty where nobody signs in
        self.client_secret = ""  #: empty for a public client
        self._ticks = ticks
        self._published = _Cached(self._read_configuration, ticks, _STALE)
        self._keys = _Cached(self._read_keys, ticks, _FRESH)
        self._renewed_at = float("-inf")

    @property
    def host(self) -> str:
        """By which people know it."""
        return urlsplit(self.issuer).netloc

    def endpoint(self, name: str) -> str:
        """An address that the provider publishes, such as its `token_endpoint`."""
        url = str(self._published().get(name, ""))
        if not is_safe(url):
            raise self._failure(f"publishes no {name}, or one that is no https address")
        return url

    def claims(self, token: str, audiences: Sequence[str]) -> Claims:
        """What a token says; raises `NotAuthenticated` unless it is good, and for one of these."""
        try:
            key = self._key_of(jwt.get_unverified_header(token))
            return jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=audiences,
                issuer=self.issuer,
                leeway=_LEEWAY,
                options={"require": _REQUIRED},
            )
        except jwt.PyJWTError as exc:
            said = _REASONS.get(type(exc), "cannot be read")
            raise NotAuthenticated(f"the token of {self.host} {said}", hint=_AGAIN) from exc

    def address_to_sign_in(
        self, attempt: Attempt, challenge: str, redirect_uri: str, scopes: Sequence[str]
    ) -> str:
        """Where a browser is sent to sign in."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(self.endpoint("authorization_endpoint"), asked)

    def address_to_sign_out(self, then: str) -> str:
        """Where a browser is sent to sign out of the provider too."""
        asked = {"client_id": self.client_id, "post_logout_redirect_uri": then}
        return _with_query(self.endpoint("end_session_endpoint"), asked)

    def exchange(
        self, code: str, attempt: Attempt, redirect_uri: str, wanted: Sequence[str]
    ) -> Claims:
        """Who signed in: the claims of the id token, and those wanted that are told elsewhere."""
        got = self._tokens_for(code, attempt, redirect_uri)
        found = dict(self.claims(str(got.get("id_token", "")), [self.client_id]))
        if not hmac.compare_digest(str(found.get("nonce", "")).encode(), attempt.nonce.encode()):
            raise NotAuthenticated("the token belongs to another sign-in", hint=_AGAIN)
        if found.get("azp", self.client_id) != self.client_id:
            raise NotAuthenticated("the token is for another client", hint=_AGAIN)
        if "userinfo_endpoint" in self._published() and not {*wanted} <= {*found}:
            bearer = {"Authorization": f"Bearer {got.get('access_token', '')}"}
            told = self._ask("GET", self.endpoint("userinfo_endpoint"), headers=bearer)
            if told.get("sub") == found["sub"]:
                found = {**told, **found}
        return found

    def _tokens_for(self, code: str, attempt: Attempt, redirect_uri: str) -> Claims:
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        client_id, secret = self.client_id, self.client_secret
        methods = self._published().get("token_endpoint_auth_methods_supported")
        if not secret:
            more: dict[str, Any] = {"data": {**sent, "client_id": client_id}}
        elif "client_secret_basic" in (methods or ["client_secret_basic"]):
            more = {"data": sent, "auth": (quote(client_id, safe=""), quote(secret, safe=""))}
        else:
            more = {"data": {**sent, "client_id": client_id, "client_secret": secret}}
        return self._ask("POST", self.endpoint("token_endpoint"), **more)

    def _read_configuration(self) -> dict[str, Any]:
        url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = self._ask("GET", url)
        if found.get("issuer") != self.issuer:
            raise self._failure(f"calls itself {str(found.get('issuer'))[:100]!r}")
        return found

    def _read_keys(self) -> jwt.PyJWKSet:
        found = self._ask("GET", self.endpoint("jwks_uri"))
        try:
            return jwt.PyJWKSet.from_dict(found)
        except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as exc:
            raise self._failure("publishes no keys that can be used") from exc

    def _key_of(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        """The key that a token names. One that is not known may be new: the keys are read again."""
        found = self._signing(header.get("kid"))
        if found is None and self._ticks() - self._renewed_at > _RENEWED:
            self._renewed_at = self._ticks()
            self._keys.is_doubted = True
            found = self._signing(header.get("kid"))
        if found is None:
            raise jwt.InvalidKeyError
        return found

    def _signing(self, kid: str | None) -> jwt.PyJWK | None:
        keys = [key for key in self._keys().keys if key.public_key_use in (None, "sig")]
        named = [key for key in keys if key.key_id == kid] if kid else keys
        return named[0] if len(named) == 1 else None

    def _ask(self, method: str, url: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401  as httpx
        """The JSON of an answer; what the provider refuses is told as `NotAuthenticated`."""
        try:
            trust = not is_loopback(urlsplit(url).hostname or "")  # no proxy on this machine
            with httpx.stream(method, url, timeout=_PATIENCE, trust_env=trust, **more) as response:
                content = _content(response)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise self._failure(f"does not answer: {type(exc).__name__}") from exc
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._failure(f"answered {response.status_code} without JSON")
        if response.status_code != HTTPStatus.OK:
            error = "".join(c for c in str(found.get("error", ""))[:40] if c.isalnum() or c == "_")
            said = f"answered {response.status_code} {error}".rstrip()
            if error == "invalid_grant":
                raise NotAuthenticated(f"the provider {self.host} {said}", hint=_GRANT)
            raise self._failure(said)
        return found

    def _failure(self, problem: str) -> ProviderFailure:
        return ProviderFailure(f"the provider {self.host} {problem}")


class _Cached:
    """What a provider publishes, read again after a while. One thread reads at a time."""

    def __init__(self, read: Callable[[], Any], ticks: Callable[[], float], fresh: float) -> None:
        self._read, self._ticks, self._fresh = read, ticks, fresh
        self._lock = threading.Lock()
        self._value: Any = None
        self._read_at = self._failed_at = float("-inf")
        self._problem = ""
        self.is_doubted = False  #: read again, though what was read stays in case that fails

    def __call__(self) -> Any:  # noqa: ANN401  whatever is read
        """It, as it was read last; raises `ProviderFailure` when that is too long ago."""
        if self._value is not None and self._lock.locked():
            return self._value  # another thread reads it again
        with self._lock:
            return self._present(self._ticks())

    def _present(self, now: float) -> Any:  # noqa: ANN401
        age, is_paused = now - self._read_at, now - self._failed_at < _PAUSE
        if age < (_STALE if is_paused else 0 if self.is_doubted else self._fresh):
            return self._value
        if is_paused:
            raise ProviderFailure(self._problem)
        self.is_doubted = False
        try:
            self._value, self._read_at = self._read(), now
        except ProviderFailure as exc:
            self._failed_at, self._problem = self._ticks(), exc.message
            if age >= _STALE:
                raise
        return self._value


def _content(response: httpx.Response) -> bytes:
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > _MOST_BYTES:
            return b""
    return bytes(content)


def _with_query(url: str, fields: Mapping[str, str]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(fields)}"


#: What is wrong with a token, without anything of it.
_REASONS: Mapping[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "has expired",
    jwt.ImmatureSignatureError: "is not good yet",
    jwt.InvalidAudienceError: "is for another server",
    jwt.InvalidIssuerError: "was made by another provider",
    jwt.MissingRequiredClaimError: "lacks a claim that it needs",
    jwt.InvalidAlgorithmError: "is signed in a way that is not taken",
    jwt.InvalidKeyError: "is not signed by a key that the provider publishes",
    jwt.InvalidSignatureError: "is not signed by the provider",
}


# ---- who is let in -------------------------------------------------------------------------------

_ANY = "*"
_EMAIL = re.compile(r"[!-?A-~]{1,64}@([A-Za-z0-9.-]{1,253})")  # ASCII: no two look alike
_TOKEN = re.compile(r"[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}", re.ASCII)  # a signed JWT
_ASK = "Ask an administrator of this server."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who is let in; the fields are the settings of the same names."""

    claim: str
    users: Mapping[str, str]
    domains: Sequence[str]
    groups: Sequence[str]
    groups_claim: str
    create: bool
    access: str
    admin_groups: Sequence[str]

    @property
    def wanted(self) -> tuple[str, ...]:
        """The claims by which somebody is judged."""
        email = ["email"] if self.claim == "email" or self.domains else []
        return (*email, *([self.groups_claim] if self.groups or self.admin_groups else []))

    def name_of(self, claims: Claims) -> str:
        """The name of the user that claims tell of; raises `NotAllowed` when none may come in."""
        email = str(claims.get("email", ""))
        is_verified = claims.get("email_verified") in (True, "true")
        email = email.lower() if is_verified and _EMAIL.fullmatch(email) else ""
        domain = email.rpartition("@")[2]
        if self.domains and _ANY not in self.domains and domain not in self.domains:
            whose = f"an address of {domain}" if domain else "no verified address"
            raise NotAllowed(f"you have {whose}, which is not let in here", hint=_ASK)
        if self.groups and _ANY not in self.groups and not self._is_in(self.groups, claims):
            raise NotAllowed("you are in no group that is let in here", hint=_ASK)
        name = email if self.claim == "email" else str(claims["sub"])
        if not name:
            raise NotAllowed(
                "the provider tells no email address that it has verified",
                hint="Have it send `email` and `email_verified`, or set `oidc_claim` to sub.",
            )
        return self.users.get(name, name)

    def most_access(self, claims: Claims) -> Access:
        """The access that somebody may have at most."""
        return Access.ADMIN if self._is_in(self.admin_groups, claims) else Access(self.access)

    def _is_in(self, groups: Sequence[str], claims: Claims) -> bool:
        said = claims.get(self.groups_claim)
        return any(group in (said if isinstance(said, list) else [said]) for group in groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Lets people in by what their provider says of them."""

    providers: Sequence[Provider]  #: at the first of them people sign in
    rules: Rules
    scopes: Sequence[str]
    find: Callable[[UserId], User | None]
    add: Callable[[str], User]

    @property
    def door(self) -> Provider | None:
        """The provider at which people sign in, if there is one."""
        return self.providers[0] if self.providers and self.providers[0].client_id else None

    def begin(self, redirect_uri: str) -> tuple[Attempt, str]:
        """A new attempt to sign in, and where the browser is sent for it."""
        attempt = Attempt(*(secrets.token_urlsafe(32) for _ in Attempt._fields))
        digest = hashlib.sha256(attempt.verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        return attempt, self.providers[0].address_to_sign_in(
            attempt, challenge, redirect_uri, self.scopes
        )

    def by_code(self, code: str, attempt: Attempt, redirect_uri: str) -> Caller:
        """Who signed in at the provider, which gave a code for it."""
        claims = self.providers[0].exchange(code, attempt, redirect_uri, self.rules.wanted)
        return Caller(user=self._known(claims), access=self.rules.most_access(claims))

    def by_token(self, token: str, audiences: Sequence[str]) -> Caller:
        """Who has an access token for this server, with what its scopes permit."""
        claims = self._provider_of(token).claims(token, audiences)
        said = claims.get("scope", claims.get("scp", ""))  # some send the latter, also as a list
        scopes = said if isinstance(said, list) else str(said).split()
        asked = [access for access in Access if access in scopes]
        if not asked:
            refused = NotAllowed(
                "the token has none of the scopes read, write and admin",
                hint="Ask the provider for a token with one of them.",
            )
            refused.needs = Access.READ
            raise refused
        most = self.rules.most_access(claims)
        access = asked[-1] if most.includes(asked[-1]) else most
        return Caller(user=self._known(claims), access=access)

    def takes(self, token: str) -> bool:
        """Whether a text may be a token of a provider, and not a key."""
        return _TOKEN.fullmatch(token) is not None

    def _provider_of(self, token: str) -> Provider:
        try:
            said: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
        except jwt.PyJWTError as exc:
            raise NotAuthenticated("the token cannot be read") from exc
        found = [each for each in self.providers if each.issuer == said.get("iss")]
        if not found:
            raise NotAuthenticated("the token was made by a provider that is not known here")
        return found[0]

    def _known(self, claims: Claims) -> UserId:
        """The user that claims tell of, whom the rules may permit to be added."""
        name = self.rules.name_of(claims)
        user = self.find(UserId(name))
        if user is None and self.rules.create:
            try:
                user = self.add(name)
            except UserExists:  # they are disabled, or another process was faster
                user = self.find(UserId(name))
        if user is None:
            raise NotAllowed(f"the user {name!r} is not known here, or is disabled", hint=_ASK)
        return user.name
