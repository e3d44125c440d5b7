"""The kinds of secrets that are told apart. Their names are shown and indexed in clear."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What kind of secret something is: a closed set, so that its name can give nothing away."""

    PRIVATE_KEY = "private key"
    AWS_KEY = "AWS key"
    GOOGLE_KEY = "Google key"
    AZURE_KEY = "Azure key"
    GITHUB_TOKEN = "GitHub token"  # noqa: S105  the names of secrets, not secrets
    GITLAB_TOKEN = "GitLab token"  # noqa: S105
    SLACK_TOKEN = "Slack token"  # noqa: S105
    STRIPE_KEY = "Stripe key"
    PACKAGE_TOKEN = "package registry token"  # noqa: S105
    MODEL_KEY = "model API key"
    JSON_WEB_TOKEN = "JSON web token"  # noqa: S105
    ACCESS_TOKEN = "access token"  # noqa: S105
    API_KEY = "API key"
    CONNECTION = "connection password"
    AUTHORIZATION = "authorization header"
    PASSWORD = "password"  # noqa: S105
    PASSPHRASE = "passphrase"  # noqa: S105
    PIN = "PIN"
    CREDENTIALS = "credentials"


class Spot(NamedTuple):
    """Where a secret of some kind stands in a text; nothing of the secret itself."""

    kind: Kind
    start: int
    end: int
