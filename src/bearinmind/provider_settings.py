"""The settings of a server that lets people in by an OpenID provider."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, model_validator

from bearinmind.models.outbound_http import is_safe
from bearinmind.settings import SettingFields

_Name = Annotated[str, Field(min_length=1, max_length=300)]


class ProviderFields(SettingFields):
    """What a server knows of providers, and whom they may let in."""

    oauth_issuers: tuple[_Name, ...] = Field(
        default=(),
        description="OpenID providers whose tokens the server takes; people sign in at the first.",
    )
    oidc_client_id: _Name | None = Field(
        default=None, description="What the server is called there; without, nobody signs in."
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="Its secret there, if it has one; never shown."
    )
    oidc_scopes: tuple[_Name, ...] = Field(
        default=("openid", "email"), description="What the provider is asked about who signs in."
    )
    oidc_claim: Literal["email", "sub"] = Field(
        default="email",
        description="What names the user: a verified address, or the id at the provider.",
    )
    oidc_users: dict[str, _Name] = Field(
        default_factory=dict,
        description="By that claim, in lower case: the user, where they differ.",
    )
    oidc_domains: tuple[Annotated[_Name, StringConstraints(to_lower=True)], ...] = Field(
        default=(), description="Domains whose addresses alone are let in; none: any."
    )
    oidc_groups: tuple[_Name, ...] = Field(
        default=(), description="Groups whose members alone are let in; none: any."
    )
    oidc_groups_claim: _Name = Field(
        default="groups", description="The claim in which the provider names the groups."
    )
    oidc_create: bool = Field(
        default=False,
        description="Add who is new as a user; needs `oidc_domains` or `oidc_groups`, or `*`.",
    )
    oidc_access: Literal["read", "write"] = Field(
        default="write", description="Most access of who is let in by a provider."
    )
    oidc_admin_groups: tuple[_Name, ...] = Field(
        default=(), description="Groups whose members may have admin access."
    )

    @model_validator(mode="after")
    def _providers_are_used_safely(self) -> Self:
        for issuer in self.oauth_issuers:
            if not is_safe(issuer) or not {"?", "#"}.isdisjoint(issuer):
                raise ValueError(f"oauth_issuers names {issuer!r}, which is no https address")
        if self.oidc_client_id and not self.oauth_issuers:
            raise ValueError("oidc_client_id is set, and oauth_issuers names no provider")
        if self.oidc_claim == "sub" and len(self.oauth_issuers) > 1:
            raise ValueError("oidc_claim = 'sub' needs one provider: two may give the same id")
        if self.oidc_create and not (self.oidc_domains or self.oidc_groups):
            raise ValueError("oidc_create needs oidc_domains or oidc_groups; `*` is any")
        return self
