"""Secrets recognised by their place: after a name, in an address, in a header, on a command line.

The name determines the required proof. After `password` any value is a secret. After `token` or `api_key`, which also name
types, counts and columns, the value must look random, unless the place takes only literals: a query, a header, a
shell variable, a flag, a string. References to variables, calls and placeholders are never hidden.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial

from whet.guard.expression import expression
from whet.guard.secrets.data import Place, names, places
from whet.guard.secrets.speech import Hide, hide_in_speech
from whet.guard.secrets.values import ANY, LITERAL, is_empty, is_reference, is_said, is_secret, looks_random
from whet.guard.tables import shape

_PASSWORD = expression(r"pass|pwd|pw$|kennwort|contraseña|senha|wachtwoord|пароль|密码|パスワード")
_SHORT = expression(r"(?<![a-z_-])(?:pass|pw)", re.IGNORECASE)
"""Words that name a password only if the value looks like one: `pass: 48, fail: 2`."""
_QUOTED = (
    r"(?P<quote>\\{0,3}[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n])){1,400})(?=(?P=quote)|\n|\Z)"
    r"|\\{0,3}[\"'`](?P<open>[^\s\"'`]{3,400})"
)
"""A value in quotes, which may be escaped, may contain the other quotes, and may lack its end."""
_WITHIN = expression(
    r"[A-Za-z](?<!auth)(?<!access)(?<!api)(?<!bot)(?<!refresh)(?<!id)(?<!user)(?<!hub)(?<!lab)(?<!csrf)t\Z", re.ASCII
)
"""A `token` that is only the end of a longer word, as in `asttokens`, but not in `accessToken` or `authtoken`."""
_VALUE = rf"(?:{_QUOTED}|(?P<bare>(?:[^\s\"'`,;&|<>(){{}}\[\]\\]|\\[/u]){{3,2000}}))"
_ASSIGNED = expression(
    r"(?P<rest>[\w.-]{0,24}?)"
    r"(?P<sep>\\{0,3}[\"'`]?\]?[ \t]{0,4}(?:=>|:=|={1,2}|[:：|>]|[ \t](?:value|content)=|\((?=[\"']))[ \t]{0,4}"
    r"(?:\r?\n[ \t]{1,12})?)" + _VALUE
)
_LITERAL = frozenset({"token", "secret", "key", "credential"})
"""Kinds of secrets that may be as weak as a password where only a literal is possible."""
_REST = expression(
    r"(?:[_-]?(?:access|shared|hash|admin))?(?:[_-]?(?:key|value|base|id(?=_key)|\d{1,2}))*", re.IGNORECASE
)
"""Text that may follow the word in the name of a secret: `SECRET_ACCESS_KEY`."""
_NAME_BEFORE = expression(r"[\w-]+\Z")
_OWN = expression(r"(?:secret|access|api|private|signing)[_-]?key|client[_-]?secret|auth[_-]?token", re.IGNORECASE)
"""Names of nothing but secrets, after which a string is one."""
_MIXED = expression(r"(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])[A-Za-z0-9!#%^*+]{6,}")
"""A value of letters and digits that is not a name with hyphens, such as those of secrets in a cluster."""
_CUT = ("...", "…")
_TIGHT = frozenset({"=", '="', "='"})
_PLAIN = expression(r"[:=>]")
"""Separators after which any value of a password is one; in a table or a call it must look like one."""
_SPOKEN = expression(
    r"(?P<rest>[\w-]{0,12})(?P<sep>(?: for [\w.@-]{1,40}){0,1}[ \t]{1,3}(?:is|was|ist)[ \t]{0,3}:?[ \t]{0,3})"
    rf"(?:{_QUOTED}|(?P<bare>[^\s\"'`]{{2,400}}[^\s\"'`,.;:)]))"
)
_SPACED = expression(r"(?P<rest>[\w-]{0,12})(?P<sep>[ \t]{1,3})" + _VALUE)
_FLAG = expression(r"(?:^|\s)--?[\w-]{0,30}\Z|\blogin \S{1,40} \Z")
_VARIABLE = expression(r"[{<%]|\$[A-Za-z_({]")
_SCHEME = expression(r"(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|AWS4-HMAC-SHA256)[ \t]{1,4}", re.IGNORECASE)
_BEARER = expression(r"\b(Bearer|Basic)([ \t]{1,4})([A-Za-z0-9._~+/=-]{8,4000})", re.IGNORECASE)
_IN_ADDRESS = expression(r"(://[^\s/:@\"'<>\[]{0,100}:)([^\s/\"'<>]{1,200})@(?=[\w.\[-])")
_AS_USER = expression(r"(://)([A-Za-z0-9_.-]{16,200})(?=(?::[^\s/@\"'<>]{0,200})?@[\w\[])")
_USER_FLAG = expression(
    r"((?:^|\s)(?:-u|--user|--proxy-user)[ \t=]{1,3}[\"']?(?!\w{1,20}://|\d{1,6}:)[^\s:\"']{0,80}:)([^\s\"']{3,200})"
)
_SECRET = expression(r"\bkind\\{0,3}\"?: ?\\{0,3}\"?Secret\b")
_DATA = expression(r"(?:stringData|data)\\{0,3}\"?:")
_ENTRY = expression(r"([\w.-]\\{0,3}\"?: {0,4}\\{0,3}\"?)([A-Za-z0-9+/]{6,20000}={0,2})(?=\\{0,3}\"|,|\s|\Z)")
_LAST = expression(r"\n[ \t]{0,8}(?:\\{0,3}\"?metadata|kind|type|apiVersion|- )")
"""The end of the data of a manifest: another field of it, or a list."""
_ARGUMENT = (
    r"(?:\\{0,3}\"(?P<double>[^\"\\\n]{3,200})|\\{0,3}'(?P<single>[^'\\\n]{3,200})"
    r"|(?P<bare>[^\s\"'`$<({\\-][^\s\"'`|;&)\\]{2,200}))"
)
"""A secret on a command line."""
_COMMAND = expression(r"[|;&\n(`]|[\"'](?=\w+ )")
"""The beginning of a command within a text."""
_OTHER_NAME = shape("secret_words", "other_names", re.IGNORECASE, frame=r"s?[_-]?(?:{})\b")
_HEADER = 4_000
"""Largest number of characters of a header that are examined."""


def hide_in_places(text: str, hide: Hide) -> str:
    """Return the text without the secrets in places for secrets."""
    if "://" in text:
        text = _IN_ADDRESS.sub(partial(_address, hide), text)
        text = _AS_USER.sub(partial(_user, hide), text)
    lowered = text.lower()
    if words := tuple(word for word in names() if word in lowered):
        text = _named(text, lowered if len(lowered) == len(text) else text, words, hide)
    if "earer" in lowered or "asic" in lowered:
        text = _BEARER.sub(partial(_header, hide), text)
    if "-u" in text:
        text = _USER_FLAG.sub(partial(_flag, hide), text)
    for place in places():
        if place.mark in text:
            text = _pattern(place).sub(partial(_argument, place, hide), text)
    text = hide_in_speech(text, lowered, hide)
    if "kind" in text and _SECRET.search(text):
        text = "\n---".join(_manifest(hide, document) for document in text.split("\n---"))
    return text


def names_secret(name: str) -> str:
    """Return the kind of secret that a name stands for, or "" if it does not name one."""
    words = list(_core(tuple(names())).finditer(name.lower())) if len(name) <= 80 else []
    return "" if not words or _is_other(name, words[-1].end()) else _kind(words[-1][0])


def _is_other(text: str, start: int = 0) -> bool:
    """Return whether a name continues so that it does not name a secret: `token_count`, `secret-name`, `tokenizer`."""
    return _OTHER_NAME.match(text, start) is not None


def _kind(core: str) -> str:
    if _PASSWORD.search(core):
        return "password"
    if core in {"bearer", "authorization"}:
        return "authorization"
    for word in ("key", "code"):
        if word in core:
            return word
    return {"sessionid": "cookie", "sig": "signature", "x-auth": "token"}.get(core, core)


@lru_cache(maxsize=256)
def _core(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the names that begin with these words; fewer words are found faster."""
    return re.compile("|".join(names()[word] for word in words))


def _named(text: str, lowered: str, words: tuple[str, ...], hide: Hide) -> str:
    """Hide the values after names; the names are searched in the lower-case text, which has the same length."""
    pieces: list[str] = []
    done = 0
    for core in _core(words).finditer(lowered):
        found = _after(text, core) if core.start() >= done else None
        if found is None:
            continue
        kind = _kind(core[0])
        start, end = found.span(found.lastgroup or 0)
        if kind in {"authorization", "cookie"} and ":" in found["sep"] and not found["rest"]:
            start, end = _header_value(text, start)
        elif not is_secret(text[start:end], _proof(text, core, found, kind)) or _called(text, start, end):
            continue
        if start < end:
            pieces += (text[done:start], hide(text[start:end], kind))
            done = end
    return "".join((*pieces, text[done:]))


def _proof(text: str, core: re.Match[str], found: re.Match[str], kind: str) -> str:
    """Return the proof required here: a password by any name need not look random."""
    short = core[0] in {"pass", "pw"} and _SHORT.match(text, core.start())
    named = found["sep"].isspace() or not found["sep"].strip() or _PLAIN.search(found["sep"]) or "is" in found["sep"]
    if kind == ANY:
        return kind if named and not short else _literal(text, core, found) or "token"
    return _literal(text, core, found) if kind in _LITERAL else kind


def _literal(text: str, core: re.Match[str], found: re.Match[str]) -> str:
    """Return the proof for a place that takes only literals; "" elsewhere, and if the name continues."""
    if not _REST.fullmatch(found["rest"]):
        return ""
    before = _NAME_BEFORE.search(text, max(0, core.start() - 60), core.start())
    name = (before[0] if before else "") + text[core.start() : core.end()] + found["rest"]
    start = core.end() + len(found["rest"]) - len(name)
    sep, edge = found["sep"], text[max(0, start - 1) : start]
    after = text[found.end() : found.end() + 1]
    value = text[slice(*found.span(found.lastgroup or 0))]
    if "session" in name.lower() or " " in value or value.endswith(_CUT) or (value.isalpha() and len(value) < 5):
        return ""
    if (sep == "=" and edge in {"?", "&"}) or (sep in _TIGHT and name.isupper() and after != ")"):
        return ANY
    if sep.isspace() or name.startswith("-"):
        return LITERAL
    quoted = found["quoted"] is not None
    pair = sep.strip() == ":" and not quoted and after in {"", "\n", "'", '"', "\\"}
    header = sep.strip() == ":" and "-" in name and (edge in {"", "\n", " "} or quoted)
    header = header or (
        pair and (edge in {"'", '"'} or _OWN.search(name) is not None or _MIXED.fullmatch(value) is not None)
    )
    if (
        (header and name[:2] in {"X-", "x-"})
        or name.startswith("_")
        or (quoted and _OWN.search(name) and "_" not in value)
    ):
        return ANY
    line = sep == "=" and edge in {"", "\n", "/", ":", " "} and after not in {",", ")"}
    return LITERAL if header or line or (quoted and sep.strip() not in {"==", "(", "|"}) else ""


def _called(text: str, start: int, end: int) -> bool:
    """Return whether the value is the name of a function, or of something that is indexed."""
    return text[end : end + 1] in {"(", "["} and re.fullmatch(r"[\w.]+", text[start:end]) is not None


def _header_value(text: str, start: int) -> tuple[int, int]:
    """Return the start and end of the secret in a header: after the scheme, up to the end of the line or the quotes."""
    stop = text.find("\n", start)
    stop = min(len(text) if stop < 0 else stop, start + _HEADER)
    quote = re.search(r"\\{0,3}[\"'`]", text[start:stop])
    end = start + quote.start() if quote else stop
    scheme = _SCHEME.match(text, start, end)
    start = scheme.end() if scheme else start
    value = text[start:end].strip()
    plain = (
        (len(value) < 8 and (len(value) < 6 or not is_secret(value, LITERAL)))
        or _VARIABLE.search(value)
        or is_empty(value)
    )
    certain = scheme or "=" in value or looks_random(value) or is_said(value)
    return (0, 0) if plain or not certain else (start, end)


def _after(text: str, core: re.Match[str]) -> re.Match[str] | None:
    """Return the separator and the value after a name; `None` if the name continues to mean something else."""
    start, end = core.span()
    if _is_other(text, end) or (core[0] == "token" and _WITHIN.search(text[max(0, start - 16) : start + 1])):
        return None
    found = _ASSIGNED.match(text, end)
    if found is not None and ("|" not in found["sep"] or _PASSWORD.match(core[0])):
        tag = ">" in found["sep"] and "=" not in found["sep"]
        return None if _is_other(found["rest"]) or (tag and not text.startswith("</", found.end())) else found
    if not text[max(0, start - 1) : start].isalpha() and (found := _SPOKEN.match(text, end)):
        return found if found["bare"] is None or any(c.isdigit() for c in found["bare"]) else None
    return _SPACED.match(text, end) if _FLAG.search(text[max(0, start - 60) : start]) else None


def _user(hide: Hide, found: re.Match[str]) -> str:
    """Hide a token in an address in place of a user."""
    if len(found[2]) < 16 or not looks_random(found[2]):
        return found[0]
    return f"{found[1]}{hide(found[2], 'token')}"


def _address(hide: Hide, found: re.Match[str]) -> str:
    if is_reference(found[2]) or is_empty(found[2]):
        return found[0]
    return f"{found[1]}{hide(found[2], 'password')}@"


def _header(hide: Hide, found: re.Match[str]) -> str:
    value = found[3]
    if found[1].lower() == "basic" and re.fullmatch(r"[A-Za-z]?[a-z-]+[.]?", value):
        return found[0]
    return f"{found[1]}{found[2]}{hide(value, 'authorization')}" if looks_random(value) else found[0]


def _flag(hide: Hide, found: re.Match[str]) -> str:
    """Hide a password after the name of a user; the text before it stays."""
    value = found[found.lastindex or 0]
    if not is_secret(value, "password"):
        return found[0]
    return f"{found[0].removesuffix(value)}{hide(value, 'password')}"


def _argument(place: Place, hide: Hide, found: re.Match[str]) -> str:
    """Hide a secret on a command line or in a call; the text around it stays."""
    start, end = found.span(found.lastgroup or 0)
    value = found.string[start:end]
    if not is_secret(value, place.proof or place.kind) or not _holds(place, found):
        return found[0]
    return f"{found.string[found.start() : start]}{hide(value, place.kind)}{found.string[end : found.end()]}"


@cache
def _pattern(place: Place) -> re.Pattern[str]:
    """Return the pattern of a place: the first group is the text before the secret, and the last group is the secret."""
    return re.compile(f"({place.before}){_ARGUMENT}{place.behind}")


def _holds(place: Place, found: re.Match[str]) -> bool:
    """Return whether nothing in the command before the secret rules out the place."""
    before = found.string[max(0, found.start() - 200) : found.end(1)]
    return not place.unless or re.search(place.unless, _COMMAND.split(before)[-1]) is None


def _manifest(hide: Hide, text: str) -> str:
    """Hide the values of a Kubernetes secret, which are base64 and may have any name."""
    start = _DATA.search(text) if _SECRET.search(text) else None
    if start is None:
        return text
    end = stop.start() if (stop := _LAST.search(text, start.end())) else len(text)

    def hidden(entry: re.Match[str]) -> str:
        return f"{entry[1]}{hide(entry[2], 'secret')}"

    return text[: start.end()] + _ENTRY.sub(hidden, text[start.end() : end]) + text[end:]
