"""Secrets hidden before anything of a transcript is kept: `ghp_...` becomes `[secret:github-token]`.

Two ways to know a secret. By its shape: the guard's table of providers, and a few more that may be hidden on less
evidence than it takes to accuse a package. By its place: after a name such as `password`, in an address, in a header.
Digests, commits, identifiers and paths have no such place and stay. Base64 that is nobody's secret becomes `[binary]`.
The names of variables, of functions and of placeholders stay too: they are what a skill should say instead.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from whet.guard.rules.secrets import SHAPES, Shape
from whet.learning.transcripts.secret_places import in_places, is_telling

BINARY = "[binary]"
_REMEMBERED = 100
"""Secrets that are known by their value."""

_MORE: tuple[Shape, ...] = (
    Shape("OpenAI key", "sk-", r"\bsk-(?:proj-|svcacct-|admin-)?(?=[\w-]{0,40}\d)([A-Za-z0-9_-]{20,220})"),
    Shape("OpenRouter key", "sk-or-", r"\bsk-or-(v\d-[0-9a-f]{32,64})"),
    Shape("Anthropic key", "sk-ant-", r"\bsk-ant-([A-Za-z0-9_-]{16,220})"),
    Shape("GitHub token", "gh", r"\bgh[pousr]_([A-Za-z0-9]{20,255})"),
    Shape("GitHub token", "github_pat_", r"\bgithub_pat_([A-Za-z0-9_]{22,255})"),
    Shape("GitLab token", "gl", r"\bgl(?:pat|ptt|dt|rt|cbt|ft|oas|soat|agent)-([A-Za-z0-9_.-]{20,120})"),
    Shape("Slack token", "xox", r"\bxox[abeprs](?:\.xox[bp])?-([A-Za-z0-9-]{10,250})"),
    Shape("Slack token", "xapp-", r"\bxapp-(\d-[A-Za-z0-9-]{20,250})"),
    Shape("Stripe key", "k_", r"\b[srp]k_(?:live|test)_([A-Za-z0-9]{16,250})"),
    Shape("Stripe key", "whsec_", r"\bwhsec_([A-Za-z0-9+/=]{20,120})"),
    Shape("Google key", "AIza", r"\bAIza([A-Za-z0-9_-]{30,45})"),
    Shape("Google token", "ya29.", r"\bya29\.([A-Za-z0-9_-]{20,2000})"),
    Shape("Google key", "GOCSPX-", r"\bGOCSPX-([A-Za-z0-9_-]{20,60})"),
    Shape("npm token", "npm_", r"\bnpm_([A-Za-z0-9]{30,64})"),
    Shape("PyPI token", "pypi-", r"\bpypi-([A-Za-z0-9_-]{40,400})"),
    Shape("Hugging Face token", "hf_", r"\bhf_([A-Za-z0-9]{30,64})"),
    Shape("JSON web token", "eyJ", r"\beyJ[\w-]{8,2000}\.([\w-]{8,4000}(?:\.[\w-]{0,2000}){0,3})"),
    Shape("Telegram bot token", ":AA", r":(AA[A-Za-z0-9_-]{33,40})"),
    Shape("Vault token", "hv", r"\bhv[sbr]\.([A-Za-z0-9_-]{20,300})"),
    Shape("Docker token", "dckr_", r"\bdckr_(?:pat|oat)_([A-Za-z0-9_-]{20,80})"),
    Shape("DigitalOcean token", "do", r"\bdo[or]_v1_([0-9a-f]{64})"),
    Shape("Databricks token", "dapi", r"\bdapi([0-9a-f]{32})"),
    Shape("Linear key", "lin_", r"\blin_(?:api|oauth)_([A-Za-z0-9]{32,64})"),
    Shape("Notion token", "ntn_", r"\bntn_([A-Za-z0-9]{40,60})"),
    Shape("Figma token", "fig", r"\bfig[dou]r?_([A-Za-z0-9_-]{36,60})"),
    Shape("Sentry token", "sntry", r"\bsntry[su]_([A-Za-z0-9+/=_]{32,400})"),
    Shape("Postman key", "PMAK-", r"\bPMAK-([0-9a-f]{24}-[0-9a-f]{34})"),
    Shape("Tailscale key", "tskey-", r"\btskey-([A-Za-z0-9-]{20,120})"),
    Shape("Groq key", "gsk_", r"\bgsk_([A-Za-z0-9]{30,120})"),
    Shape("Replicate token", "r8_", r"\br8_([A-Za-z0-9]{30,60})"),
    Shape("Together key", "tgp_v1_", r"\btgp_v1_([A-Za-z0-9_-]{30,120})"),
    Shape("Pinecone key", "pcsk_", r"\bpcsk_([A-Za-z0-9_]{30,120})"),
    Shape("xAI key", "xai-", r"\bxai-([A-Za-z0-9]{40,120})"),
    Shape("Perplexity key", "pplx-", r"\bpplx-([A-Za-z0-9]{30,80})"),
    Shape("NVIDIA key", "nvapi-", r"\bnvapi-([A-Za-z0-9_-]{40,120})"),
    Shape("Tavily key", "tvly-", r"\btvly-([A-Za-z0-9-]{20,80})"),
    Shape("age key", "AGE-SECRET-KEY-", r"\bAGE-SECRET-KEY-(1[0-9A-Z]{50,64})"),
)  # fmt: skip
"""Shapes beside those of the guard: keys for tests, other lengths, providers that skills do not ship."""

_ESCAPED = re.compile(r"(?:\\[bfnrt]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\[\d{1,2}m)\Z")
"""What may stand right before a token although it ends in a letter or a digit: an escaped line end, a colour."""
_LEFT = re.compile(r"^(?:\\b|\(\?<!\[[^\]]*\]\))")
_RIGHT = re.compile(r"(?:\\b|\(\?!\[[^\]]*\]\))$")
"""How the patterns of the guard say that a token begins and ends there."""
_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----[\s\S]{0,20000}?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)"
)
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_DATA = re.compile(r"data:[\w.+/-]{3,80}(?:;[\w.+=-]{1,40}){0,3};base64,[A-Za-z0-9+/=_-]{0,4000000}", re.ASCII)
_BLOB = re.compile(r"[A-Za-z0-9+/]{256,}={0,2}")
_RUN = re.compile(r"[A-Za-z0-9+/]{60}")
_LINES = re.compile(r"(?:[A-Za-z0-9+/]{60,80}(?:\\n|\\r|\r?\n)){6,}[A-Za-z0-9+/]{0,80}={0,2}")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])")
_SURROGATES = re.compile("[\x00\ud800-\udfff]")


def redacted(text: str, known: Known | None = None) -> tuple[str, int]:
    """The text without secrets, and how many were hidden.

    What is a secret in one place is one everywhere: values that were found by their place are hidden in the rest of the
    text too, and learned by `known`, for other texts.
    """
    known = Known() if known is None else known
    hidden = 0
    if "PRIVATE KEY" in text:
        text, first = _KEY.subn("[secret:private-key]", text)
        text, second = _without_ends(text)
        hidden += first + second
    if len(text) >= 256:
        text = _without_binary(text)
    for shape in (*SHAPES, *_MORE):
        if shape.mark in text:
            before = text.count("[secret:")
            text = _pattern(shape.regex).sub(partial(_token, shape), text)
            hidden += text.count("[secret:") - before
    text, found = in_places(text, known.learn)
    text, again = known.hide(text)
    return text, hidden + found + again


class Known:
    """Secrets that were found by their place, and are secrets wherever else they stand."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def learn(self, value: str, kind: str) -> None:
        """Remember a secret, if it is one that can be told from a word."""
        if len(self._kinds) < _REMEMBERED and is_telling(value):
            self._kinds[value] = kind

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def hide(self, text: str) -> tuple[str, int]:
        """The text without the secrets that are known, and how many there were."""
        hidden = 0
        for value, kind in self._kinds.items():
            if value in text:
                hidden += text.count(value)
                text = text.replace(value, placeholder(kind))
        return text, hidden


def placeholder(kind: str) -> str:
    """What stands where a secret was."""
    return f"[secret:{kind.lower().replace(' ', '-')}]"


@lru_cache(maxsize=128)
def _pattern(regex: str) -> re.Pattern[str]:
    """The guard's pattern, taken loosely at both ends: what is glued to a token does not save it."""
    return re.compile(_RIGHT.sub("", _LEFT.sub("", regex)))


def _token(shape: Shape, found: re.Match[str]) -> str:
    """A token hidden, wherever it begins. Only `sk-` also ends words, as in `task-list`, which do not look random."""
    before = found.string[max(0, found.start() - 6) : found.start()]
    word = shape.mark == "sk-" and re.search(r"[A-Za-z0-9_]\Z", before) and not _ESCAPED.search(before)
    return found[0] if word and not _is_mixed(found[1]) else placeholder(shape.kind)


def _is_mixed(text: str) -> bool:
    """Are there letters of both cases and digits in it, as in base64, and not in words?"""
    return any(c.islower() for c in text) and any(c.isupper() for c in text) and any(c.isdigit() for c in text)


def _without_ends(text: str) -> tuple[str, int]:
    """The text without keys whose beginning is missing, as in the last lines of a file."""
    pieces: list[str] = []
    done = 0
    for found in _KEY_END.finditer(text):
        start = found.start()
        while start > done and (text[start - 1] in "+/=\\" or text[start - 1].isalnum() or text[start - 1].isspace()):
            start -= 1
        pieces += (text[done:start], "[secret:private-key]")
        done = found.end()
    return "".join((*pieces, text[done:])), len(pieces) // 2


def _without_binary(text: str) -> str:
    if ";base64," in text:
        text = _DATA.sub(BINARY, text)
    return _BLOB.sub(_binary, _LINES.sub(_binary, text)) if _RUN.search(text) else text


def _binary(found: re.Match[str]) -> str:
    return BINARY if _is_mixed(found[0]) and len(set(found[0])) > 24 else found[0]


def cleaned(text: str) -> str:
    """The text as one can read and store it: no colours of a terminal, one kind of line end, no broken characters."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if text.isascii() and "\0" not in text else _SURROGATES.sub("\ufffd", text)
