"""The rules of detect-secrets, a library of token formats that is kept up to date.

Its maintained distribution is bc-detect-secrets. Only the formats are taken: its other rules, about
entropy and key words, are made for source code and take most sentences for secrets (docs/adr/0014
has the figures). The library takes a seventh of a second to import, so it is asked only about texts
that hold something which one of its formats could match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from bearinmind.remember.secret_kinds import Kind, Spot
from bearinmind.remember.secret_values import is_stand_in

# A run as long as the shortest of the formats.
_CANDIDATE = re.compile(r"[A-Za-z0-9_/+=-]{20,}|PuTTY-User-Key")
_NO_SECRET = re.compile(r"[^0-9]+|[^A-Za-z]+|[0-9a-f-]+")  # words, numbers, hashes, UUIDs


#: module of the library -> class of the rule, kind of what it finds
_RULES = {
    "artifactory": ("ArtifactoryDetector", Kind.PACKAGE_TOKEN),
    "aws": ("AWSKeyDetector", Kind.AWS_KEY),
    "azure_storage_key": ("AzureStorageKeyDetector", Kind.AZURE_KEY),
    "discord": ("DiscordBotTokenDetector", Kind.ACCESS_TOKEN),
    "github_token": ("GitHubTokenDetector", Kind.GITHUB_TOKEN),
    "ibm_cloud_iam": ("IbmCloudIamDetector", Kind.API_KEY),
    "jwt": ("JwtTokenDetector", Kind.JSON_WEB_TOKEN),
    "mailchimp": ("MailchimpDetector", Kind.API_KEY),
    "npm": ("NpmDetector", Kind.PACKAGE_TOKEN),
    "private_key": ("PrivateKeyDetector", Kind.PRIVATE_KEY),
    "sendgrid": ("SendGridDetector", Kind.API_KEY),
    "slack": ("SlackDetector", Kind.SLACK_TOKEN),
    "softlayer": ("SoftlayerDetector", Kind.API_KEY),
    "square_oauth": ("SquareOAuthDetector", Kind.API_KEY),
    "stripe": ("StripeDetector", Kind.STRIPE_KEY),
    "twilio": ("TwilioKeyDetector", Kind.API_KEY),
}


def read(text: str) -> Iterator[Spot]:
    """The secrets whose formats the library knows."""
    if all(_NO_SECRET.fullmatch(run) for run in _CANDIDATE.findall(text)):
        return
    for pattern, kind in _patterns():
        for match in pattern.finditer(text):
            if "EXAMPLE" not in match[0] and not is_stand_in(match[0]):
                yield Spot(kind, *match.span())


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Kind], ...]:
    found = []
    for module, (rule, kind) in _RULES.items():
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), rule)
        found += [(pattern, kind) for pattern in detector.denylist]
    return tuple(found)
