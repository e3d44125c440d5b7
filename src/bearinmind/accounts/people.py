"""Which people of an OpenID provider are let in, as which user, and with which access."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt

from bearinmind.accounts.keys import Caller
from bearinmind.accounts.openid import Attempt, Claims, Provider
from bearinmind.errors import NotAllowed, NotAuthenticated, UserExists
from bearinmind.protocols import User
from bearinmind.types import Access, UserId

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
