"""Secrets that are recognised by their format, wherever they are in a text.

Each rule has the texts that must occur for its pattern to be tried: looking for a few letters costs
a hundredth of what a pattern does, and most memories hold none of them. The shapes are those that
the services document for their own keys and tokens.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from bearinmind.remember.secret_values import (
    Kind,
    Spot,
    is_chosen_password,
    is_stand_in,
    looks_random,
)

_TAIL = r"[A-Za-z0-9_-]"
_NAMED = r"(?<![\w:/@.-])[A-Za-z_][\w.-]*:"  # somebody, before their password
_MARK = re.compile(r"[_.-]")
_LONG_RUN = 12  # letters and digits: no word of an identifier is as long and holds a digit


class _Rule(NamedTuple):
    kind: Kind
    signs: tuple[str, ...]  #: one of these must be in the text
    pattern: re.Pattern[str]  #: its last group, if it has one, is the secret
    agrees: Callable[[str], bool]  #: what else must hold for the secret


def _shaped(
    kind: Kind, signs: tuple[str, ...], pattern: str, agrees: Callable[[str], bool] = bool
) -> _Rule:
    return _Rule(kind, signs, re.compile(pattern), agrees)


def _prefixed(kind: Kind, least: int, *prefixes: str, tail: str = _TAIL) -> _Rule:
    """Tokens that begin with one of these and go on for at least so many characters."""
    either = "|".join(re.escape(prefix) for prefix in prefixes)
    return _shaped(kind, prefixes, rf"(?<![A-Za-z0-9_])(?:{either}){tail}{{{least},}}", _is_token)


def _is_token(value: str) -> bool:
    """Whether a run is random rather than words with marks between them."""
    if not any(map(str.isdigit, value)) or value.endswith("EXAMPLE"):
        return False
    return _mixed(value) or any(len(run) >= _LONG_RUN for run in _MARK.split(value))


def _mixed(value: str) -> bool:
    """Whether a run has digits and letters of both cases, as random ones of this length do."""
    return all(any(map(test, value)) for test in (str.isdigit, str.islower, str.isupper))


def _is_basic(value: str) -> bool:
    """Whether a text is a name and a password as basic authentication writes them."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False
    return b":" in decoded and decoded.isascii()


def _is_password(value: str) -> bool:
    return not is_stand_in(value)


def _changes_case(value: str) -> bool:
    """Whether the letters change from small to capital more often than words do."""
    letters = value.partition("_")[2]
    changes = sum(a.islower() != b.islower() for a, b in itertools.pairwise(letters))
    return changes > len(letters) // 4


_RULES: tuple[_Rule, ...] = (
    _shaped(
        Kind.PRIVATE_KEY,
        ("PRIVATE KEY",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\S]{0,200}?[A-Za-z0-9+/]{24}[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)",
    ),
    _shaped(
        Kind.PRIVATE_KEY,
        ("PuTTY-User-Key-File",),
        r"PuTTY-User-Key-File-\d:[\s\S]*Private-Lines:[\s\S]*",
    ),
    _prefixed(Kind.PRIVATE_KEY, 50, "AGE-SECRET-KEY-1"),
    _shaped(
        Kind.AWS_KEY,
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
        lambda value: not value.endswith("EXAMPLE"),
    ),
    _shaped(
        Kind.AWS_KEY,
        ("aws", "AWS"),
        r"(?i:aws)[^\n]{0,60}?(?<![A-Za-z0-9/+=])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        lambda value: _mixed(value) and not value.endswith("EXAMPLEKEY"),
    ),
    _prefixed(Kind.GOOGLE_KEY, 30, "AIza"),
    _prefixed(Kind.GOOGLE_KEY, 20, "GOCSPX-"),
    _prefixed(Kind.GOOGLE_KEY, 20, "ya29."),
    _shaped(Kind.GOOGLE_KEY, ("private_key_id",), r'"private_key_id"\s*:\s*"([0-9a-f]{40})"'),
    _shaped(
        Kind.AZURE_KEY,
        ("AccountKey=", "SharedAccessKey="),
        r"\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
    ),
    _shaped(Kind.AZURE_KEY, ("sig=",), r"[?&]sig=([A-Za-z0-9%+/=_-]{30,})"),
    _shaped(Kind.AZURE_KEY, ("8Q~",), r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{31,37}"),
    _prefixed(Kind.GITHUB_TOKEN, 30, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _prefixed(
        Kind.GITLAB_TOKEN,
        18,
        *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "glimt-"),
    ),
    _prefixed(Kind.SLACK_TOKEN, 16, "xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxe-"),
    _prefixed(Kind.SLACK_TOKEN, 16, "xapp-", "xoxe.xoxp-"),
    _shaped(
        Kind.SLACK_TOKEN,
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    ),
    _prefixed(Kind.STRIPE_KEY, 16, "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
    _prefixed(Kind.PACKAGE_TOKEN, 30, "npm_", "pypi-", "rubygems_"),
    _prefixed(Kind.PACKAGE_TOKEN, 24, "dckr_pat_"),
    _prefixed(Kind.MODEL_KEY, 20, "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-or-v1-", "sk-admin-"),
    _prefixed(Kind.MODEL_KEY, 32, "sk-", tail="[A-Za-z0-9]"),
    _prefixed(Kind.MODEL_KEY, 28, "hf_", "gsk_", "r8_", "xai-", "pplx-", "nvapi-", "lsv2_pt_"),
    _prefixed(Kind.MODEL_KEY, 40, "pa-", "tgp_v1_", "wandb_v1_", "fw_"),
    _shaped(Kind.MODEL_KEY, ("hf_",), r"(?<![A-Za-z0-9_])hf_[A-Za-z]{30,}", _changes_case),
    _shaped(
        Kind.JSON_WEB_TOKEN,
        ("eyJ",),
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{10,})?",
    ),
    _prefixed(
        Kind.ACCESS_TOKEN,
        20,
        *("hvs.", "hvb.", "dop_v1_", "doo_v1_", "dapi", "shpat_", "shpss_", "shpca_", "shppa_"),
        *("lin_api_", "ntn_", "figd_", "sbp_", "glsa_", "glc_", "NRAK-", "sntrys_", "HRKU-"),
        *("ATATT3", "dp.pt.", "dp.st.", "pscale_tkn_", "tfp_", "sq0csp-", "sq0atp-"),
        *("PMAK-", "tvly-", "secret_", "nfp_", "sgp_", "tskey-", "pul-", "pnu_", "dt0c01."),
        *(
            "CFPAT-",
            "xkeysib-",
            "rzp_live_",
            "shippo_live_",
            "sqp_",
            "squ_",
            "sqa_",
            "sntryu_",
            "dnkey-",
        ),
        *("bkua_", "CCIPAT_", "CLOJARS_", "pat-na1-", "pat-eu1-", "lin_oauth_", "pscale_pw_"),
        *("pscale_oauth_", "EZAK", "EZTK", "NRII-", "NRJS-", "ico-", "duffel_live_", "rdme_"),
        *(
            "EAAA",
            "fm1_",
            "fm2_",
            "fo1_",
            "ops_eyJ",
            "sha256~",
            "vercel_",
            "doo_v1_",
            "shptka_",
            "ghcr_",
        ),
        tail=r"[A-Za-z0-9_.+/=-]",
    ),
    _prefixed(Kind.SLACK_TOKEN, 16, "xoxc-", "xoxd-"),
    _shaped(
        Kind.ACCESS_TOKEN,
        ("/api/webhooks/", "webhook.office.com"),
        r"(?:/api/webhooks/\d{10,}/|webhook\.office\.com/webhookb2/)([\w@/-]{30,})",
    ),
    _shaped(Kind.API_KEY, ("key-",), r"(?<![\w-])key-[0-9a-f]{32}(?![0-9a-f])"),
    _shaped(
        Kind.PRIVATE_KEY,
        ("rivate", "reshared"),
        r"(?i:private|preshared)_?(?i:key)\s*=\s*([A-Za-z0-9+/]{42,43}=)",
    ),
    _shaped(
        Kind.PRIVATE_KEY, ("-key-data",), r"client-key-data\"?:\s*\"?([A-Za-z0-9+/]{40,}={0,2})"
    ),
    _shaped(
        Kind.ACCESS_TOKEN,
        ("ookie",),
        r"(?i:cookie)\"?:[^\n]{0,200}?(?i:sess|sid|auth|token|jwt|remember)[\w.-]{0,24}="
        r"([^\s;\"']{16,})",
    ),
    _shaped(
        Kind.PACKAGE_TOKEN,
        ("_auth", "_password"),
        r"\b_(?:auth|authToken|password)\s*=\s*\"?([A-Za-z0-9+/_=-]{12,})",
    ),
    _shaped(
        Kind.AUTHORIZATION, ('"auth"',), r'"auth"\s*:\s*"([A-Za-z0-9+/]{8,}={0,2})"', _is_basic
    ),
    _shaped(Kind.API_KEY, ("otpauth://",), r"otpauth://[^\s]{0,200}?secret=([A-Z2-7]{16,})"),
    _shaped(
        Kind.API_KEY,
        ("TOTP", "totp", "2FA", "2fa", "MFA", "mfa", "OTP", "otp", "uthenticator"),
        r"(?i:totp|2fa|mfa|otp|authenticator)[^\n]{0,60}?"
        r"(?<![A-Za-z0-9])((?:[A-Z2-7]{4}[ -]?){4,15}[A-Z2-7]{2,4}"
        r"|(?:[a-z2-7]{4}[ -]){4,15}[a-z2-7]{4})(?![A-Za-z0-9])",
        lambda value: any(map(str.isdigit, value)),
    ),
    _shaped(
        Kind.PASSWORD,
        ("openssl",),
        r"openssl\b[^\n|;]{0,120}?\s(?:-k\s+|-pass(?:in|out)?\s+pass:)[\"']?([^\s\"'$]{4,})",
    ),
    _shaped(Kind.PASSWORD, ("sshpass",), r"sshpass\s+-p\s*[\"']?([^\s\"'$<{-][^\s\"']{3,})"),
    _shaped(  # a line of .pgpass
        Kind.PASSWORD,
        (":5432:", ":6432:", ":*:"),
        r"(?m)^[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w.*-]+:(\S{6,})$",
        _is_password,
    ),
    _shaped(
        Kind.CREDENTIALS,
        ("root", "admin", "postgres", "ubuntu", "sa/"),
        r"\b(?:root|admin|administrator|postgres|ubuntu|sa)\s?/\s?([^\s/,;]{6,})",
        is_chosen_password,
    ),
    _shaped(
        Kind.CREDENTIALS,
        ("root", "admin", "log in", "login", "sign in", "ssh"),
        r"\b(?:root|admin|log(?:ged)? in|login|sign(?:ed)? in|ssh)\b[^\n.;]{0,60}?"
        r"\b(?:with|using)\s+(?:the\s+)?[\"'`]?([^\s\"'`,;]{6,})",
        is_chosen_password,
    ),
    # Our own: `bearinmind.accounts.keys`.
    _shaped(Kind.ACCESS_TOKEN, ("bim_",), r"(?<![A-Za-z0-9])bim_[a-z0-9]{12}_[A-Za-z0-9]{43}"),
    _shaped(Kind.ACCESS_TOKEN, ("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shaped(Kind.ACCESS_TOKEN, (":AA",), r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    _shaped(Kind.ACCESS_TOKEN, (".atlasv1.",), r"\b\w{14}\.atlasv1\.[\w-]{40,}"),
    _shaped(
        Kind.CONNECTION,
        ("://",),
        r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@\"'<>]*:([^\s/\"'<>]{2,}?)@[^\s@]",
        _is_password,
    ),
    # The same without a scheme. A port tells a host from an address for mail; without one the
    # password must look like one.
    _shaped(
        Kind.CONNECTION,
        ("@",),
        _NAMED + r"([^\s:/@\"'<>]{3,})@(?!sha\d)[A-Za-z0-9][\w.-]*:\d{2,5}\b",
        _is_password,
    ),
    _shaped(
        Kind.CONNECTION,
        ("@",),
        _NAMED + r"([^\s:/@\"'<>]{8,})@(?!sha\d)[A-Za-z0-9]",
        lambda value: looks_random(value, said_outright=True),
    ),
    _shaped(
        Kind.AUTHORIZATION,
        ("Bearer", "bearer", "BEARER"),
        r"\b(?i:bearer)\s+([A-Za-z0-9._~+/=-]{16,})",
        lambda value: looks_random(value, said_outright=False),
    ),
    _shaped(
        Kind.AUTHORIZATION,
        ("Basic", "basic", "BASIC"),
        r"\b(?i:basic)\s+([A-Za-z0-9+/]{8,}={0,2})",
        _is_basic,
    ),
    _shaped(
        Kind.AUTHORIZATION,
        ("uthorization", "UTHORIZATION"),
        r"(?i:(?:proxy-)?authorization)[\"']?\s*[:=]\s*[\"']?[A-Za-z]+\s+([^\s\"']{8,})",
        lambda value: looks_random(value, said_outright=True) or _is_basic(value),
    ),
    _shaped(
        Kind.CREDENTIALS,
        ("-u", "--user"),
        r"(?<!\S)(?:-u|--user)[ =]?[\"']?[^\s:\"'/]+:([^\s\"']{3,})",
        lambda value: _is_password(value) and not value.isdigit(),
    ),
    _shaped(
        Kind.PASSWORD,
        ("sshpass", "mysql", "mariadb", "PGPASSWORD"),
        r"(?:sshpass\s+-p\s*|(?:mysql|mariadb)(?:dump|admin)?\b[^\n|;]{0,120}?\s-p)[\"']?([^\s\"'-][^\s\"']{2,})",
        _is_password,
    ),
)


# A run as long as the shortest of the formats.
_CANDIDATE = re.compile(r"[A-Za-z0-9_/+=-]{20,}|PuTTY-User-Key")
_CHECKSUM = re.compile(r"(?:sha\d{3}[-:]|h1:)$")
_NO_SECRET = re.compile(r"[^0-9]+|[^A-Za-z]+|[0-9a-f-]+")  # words, numbers, hashes, UUIDs


#: module of the library -> class of the rule, kind of what it finds
_LIBRARY_RULES = {
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
    """The secrets that show by their shape."""
    for rule in _RULES:
        if any(sign in text for sign in rule.signs):
            for match in rule.pattern.finditer(text):
                group = match.re.groups
                if rule.agrees(match[group]):
                    yield Spot(rule.kind, *match.span(group))


def read_library(text: str) -> Iterator[Spot]:
    """The secrets whose formats the library knows."""
    if all(_NO_SECRET.fullmatch(run) for run in _CANDIDATE.findall(text)):
        return
    for pattern, kind in _patterns():
        for match in pattern.finditer(text):
            if _CHECKSUM.search(text, max(0, match.start() - 8), match.start()):
                continue  # in a lock file
            if "EXAMPLE" not in match[0] and not is_stand_in(match[0]):
                yield Spot(kind, *match.span())


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Kind], ...]:
    patterns = []
    for module, (rule, kind) in _LIBRARY_RULES.items():
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), rule)
        patterns += [(pattern, kind) for pattern in detector.denylist]
    return tuple(patterns)
