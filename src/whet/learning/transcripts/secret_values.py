"""What a value looks like that stands where a secret may stand.

Three degrees of proof. After a name that can only be a password's, any value counts. In a place that takes a literal,
any but a plain word of prose. Everywhere else it has to look random. References to variables, calls, types and what
only holds the place of a secret never count.
"""

from __future__ import annotations

import re

ANY = "password"
"""The degree at which any value counts; it is the kind of most of them, too."""
LITERAL = "literal"
"""The degree at which a plain word does not count. Any other kind of secret has to look random."""

REFERENCE = re.compile(
    r"[$%@{]|=\{\{|\[\w+\]$|//|--?[a-z][a-z-]+(?:=|$)|\^[A-Z]+\^|(?:ConvertTo|Read|Get|New)-[A-Z]\w+$|0x[0-9a-f]{38,42}$|[A-Za-z_]\w*=[A-Za-z_$]|\\?\$|[A-Za-z_]+(?:\.[A-Za-z_]+)+$|(?:process|os|env|sys|self|this|config|args|settings|secrets|vars)\."
    r"|(?:none|null|nil|true|false|undefined|str|string|text|bytes|int|number|bool|boolean|any|object|optional|required"
    r"|password|pass|getpass|input|value|varchar|char|yes|no|on|off|not|the|an?|is|was|and|or|for|in|to|of|set|unset|empty"
    r"|missing|invalid|wrong|incorrect|expired|hidden|prompt|stdin|file|env|auto|default|manual|length|must|should|bearer|basic"
    r"|std::\w+|(?:list|dict|array|map|record|promise|option)\b.*)$",
    re.IGNORECASE,
)
"""A value that says where the secret is, or of what kind, and is none itself."""
EMPTY = re.compile(
    r"your[A-Za-z_. @:-]{0,60}$"
    r"|(?:insert|enter|replace|example|sample|dummy|fake|placeholder|redacted|changeme)[A-Za-z_ -]{0,60}$"
    r"|[A-Za-z0-9_]{0,20}your[_ -][A-Za-z0-9_ -]{0,60}$"
    r"|(?:my|some|the|an?|put|change)[_ -][A-Za-z_ -]{1,60}$|[xX*.•_-]{3,}$|\[secret|\[binary|<"
    r"|(?:[\w.+-]{0,12}[_.:+-])?x{3,}(?:[ ._-]?[xyz]{3,}|-us\d){0,8}$|(?:abc|xyz|foo|bar|baz)$"
    r"|(?:not|none|no|n/a)[_ -][a-z_ -]{1,40}$",
    re.IGNORECASE,
)
"""A value that only holds the place of one."""
_WORDS = re.compile(r"[A-Za-z]+(?:[_ .-][A-Za-z]+)*$")
_PROSE = re.compile(r"[A-Za-z]+(?:[_ ./-][A-Za-z]+)*$")
_SECRET_WORD = re.compile(r"passw|secret|token|key|credential|pwd|auth", re.IGNORECASE)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/(?:[A-Za-z.][a-z0-9_.-]*/){1,20}[\w.-]{0,80}$|/[a-z]{2,12}$|[A-Za-z]:\\|~/|\.{1,2}/"
)
_NAMED_NUMBER = re.compile(r"[a-z]+[-_]?v?\d{1,3}(?:\.\d{1,3}){0,3}|\d+(?:\.\d+)?[a-z]{1,3}")
_NUMBERED = re.compile(r"[a-z]+[-_]v?\d{1,3}(?:\.\d{1,3}){0,3}|\d+(?:\.\d+)?[a-z]{1,3}")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+[=+.\w-]*")
_CASES = re.compile(r"[A-Z][a-z]?[A-Z].*[a-z]|[a-z][A-Z]{2}")
_DIGEST = re.compile(r"(?:sha\d{1,3}|md5|blake\w{1,3})[:-]", re.IGNORECASE)
_THING = re.compile(
    r"(?:base|sha|md|utf|oauth|python|node|http|ipv|web|hs|rs|es|aes|ed|argon|bcrypt|scrypt|int|uint|float|gpt|claude"
    r"|postgres|redis|mysql|ubuntu|debian|java|php|ruby|vue|angular|neo4j|x)-?\d{1,5}\Z|[A-Za-z]\d?\Z",
    re.IGNORECASE,
)
"""Names of things that end in a number, and are nobody's password in prose."""
_QUALITY = re.compile(
    r"(?:case|auto|self|base|user|non|pre|well|read|write|one|two|long|short|server|client|hard|per|re|url|time|plain"
    r"|machine|human|multi|single|high|low|end|built|up|rate|role|key|cross|third|first|public|private)[-_]"
    r"|.*[-_](?:\w*(?:ed|ing|able|ible|ive|less|ly)|only|free|safe|specific|time|term|wide|side|long|level|case|like"
    r"|friendly|type|string|value|field|name|id|url|format|header|based|first|style|file)\Z",
    re.IGNORECASE,
)
"""Words with a hyphen that say of what kind something is: `case-sensitive`, `short-lived`."""
_ENDING = re.compile(r"(?:ed|ing|able|ible|ive|less|ly|ous|ful|al|ic|ent|ant|en)\Z")
_PLAIN = (
    "long short weak strong safe secure good bad correct right same here there now also just only still very too then"
    " stale old new plain unique random sent kept held put shown lost gone known never always already that this what"
    " your yours mine with from when where who which if as at by so it its"
    " okay fine used fake real done best next last part case less more most even like such sure true"
)
_SAID = frozenset(_PLAIN.split())
"""Plain words that are said of a password."""


def is_secret(value: str, kind: str) -> bool:
    """May the value of something called so be a secret? `kind` says how much it takes."""
    bare = value.strip().rstrip(":.!?,;").strip("*_'\"")
    if (
        "://" in bare
        or len(bare) < 3
        or REFERENCE.match(bare)
        or EMPTY.match(bare)
        or _PATH.match(bare)
        or _DIGEST.match(bare)
    ):
        return False
    worded = _WORDS.match(bare) is not None
    if kind in {ANY, LITERAL} and worded and (_SECRET_WORD.search(bare) or len(bare) > 60):
        return False
    if kind == LITERAL:
        return (
            len(bare) >= 4
            and not re.search(r"[\s()]", bare)
            and not bare.isalpha()
            and not (worded and re.search("[._]", bare))
        )
    return kind == ANY or looks_random(bare)


def is_said(value: str) -> bool:
    """May a value in prose be a secret? Words that say what a password is like are none."""
    bare = value.strip().rstrip(":.!?,;)").strip("*_'\"`")
    if (
        len(bare) < 5
        or not any(map(str.isalpha, bare))
        or not is_secret(bare, LITERAL)
        or _THING.match(bare)
        or _VERSION.fullmatch(bare)
    ):
        return False
    return not (_PROSE.match(bare) and ("-" not in bare or "/" in bare or _QUALITY.match(bare) or bare[0].isupper()))


def is_said_word(value: str) -> bool:
    """May a plain word in prose be a password, as in `the password is swordfish`?"""
    return (
        4 <= len(value) <= 40
        and value.isalpha()
        and value.islower()
        and is_secret(value, ANY)
        and value not in _SAID
        and _ENDING.search(value) is None
    )


def looks_random(value: str) -> bool:
    """Letters with digits, or of both cases within a word, or a long word without sense."""
    if len(value) < 8 or " " in value.strip() or value.isdigit():
        return False
    if any(c.isdigit() for c in value) and any(c.isalpha() for c in value):
        return not (_NAMED_NUMBER.fullmatch(value) and len(value) < 16) and not _VERSION.fullmatch(value)
    if _WORDS.match(letters := value.rstrip("=")):
        return letters.isalpha() and (len(letters) >= 20 or _CASES.search(letters) is not None)
    return any(c in "!#+^~" for c in value)


def is_telling(value: str) -> bool:
    """Can the value be nothing but this secret, wherever it stands?

    Words with hyphens can, and phrases; a plain word, a number, the name of a thing with a number cannot.
    """
    if not 6 <= len(value) <= 400 or not any(c.isalpha() for c in value) or _THING.match(value):
        return False
    if " " in value:
        return len(value) >= 12 and value.count(" ") >= 2
    if _WORDS.match(value):
        return "-" in value and len(value) >= 10 and not _QUALITY.match(value)
    return len(value) >= 12 or not _NUMBERED.fullmatch(value)
