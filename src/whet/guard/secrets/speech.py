"""Secrets that somebody mentions in prose: `use the token X`, `the pin is X`, `log in with dana / X`.

Prose also describes passwords, so a value must be one that prose has no use for: letters with digits, signs within, two
hyphenated words that are not a quality. A plain word counts only as the password itself, at the end of a clause.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from whet.guard.expression import expression
from whet.guard.secrets.values import is_said, is_said_word, looks_random
from whet.guard.tables import words

_NAME = (
    r"(?:(?P<key>(?:api |access |secret |private |license |deploy )keys?|tokens?|secrets?)|(?P<pin>pin|otp|passcode|puk"
    r"|(?:pin|2fa|verification|security|access|door) codes?)|pass(?:word|wort|phrase)|pwd|pw|kennwort|contraseña|senha)"
)
_VALUE = r"(?P<mark>\\{0,3}[\"'`*]{0,3})(?P<value>[^\s\"'`<>()\[\]{}|$]{3,200})"
_TOLD = expression(
    r"(?:,|\b(?:us(?:e|ing)|with|try|take|here(?:'s| is)|and|nimm|mit|benutze))"
    r"(?: (?:the|this|that|my|our|a|das|dem|den|mein))?"
    rf"(?: \w{{1,20}}){{0,2}}? {_NAME}(?: for \S{{1,40}})?:? {{1,3}}{_VALUE}",
    re.IGNORECASE,
)
_IS = expression(
    rf"\b{_NAME}(?: (?:for|of|to|on|für|von)(?: \w{{1,20}}){{0,2}}? [\w.@-]{{1,40}})?"
    rf"(?: (?P<verb>is|was|ist|war|es)(?: now| still)?:?|(?(pin):|(?!))) {{1,3}}{_VALUE}",
    re.IGNORECASE,
)
_LOGIN = expression(
    r"\b(?:log(?:ged)?[ -]?(?:in|on)|sign[ -]?in|credentials?|creds)(?: \w{1,12}){0,2}?:? {1,3}"
    rf"(?P<user>[\w.@+-]{{2,60}})(?: / | : |:(?!/)|/(?=[a-z]{{2,40}}\d|\d{{1,20}}[a-z])){_VALUE}",
    re.IGNORECASE,
)
_BESIDE = expression(rf"(?<![\w-]){_NAME} {{1,2}}{_VALUE}", re.IGNORECASE)
_CLAUSE = expression(r"[.,;!]?(?:\s{0,2}\Z|\n|[,;] |\. [A-Z]| (?:for|on|and|use|please)\b)")
Hide = Callable[[str, str], str]
"""Returns the replacement for a secret of a kind."""


def hide_in_speech(text: str, lowered: str, hide: Hide) -> str:
    """Return the text without secrets that somebody mentions in it; `lowered` is the text in lower case."""
    if any(word in lowered for word in words("secret_words", "told")):
        text = _IS.sub(partial(_told, hide, is_=True), text)
        text = _TOLD.sub(partial(_told, hide), text)
        text = _BESIDE.sub(partial(_beside, hide), text)
    if "log" in lowered or "sign" in lowered or "cred" in lowered:
        text = _LOGIN.sub(partial(_login, hide), text)
    return text


def _told(hide: Hide, found: re.Match[str], *, is_: bool = False) -> str:
    value = _value(found)
    kind = "pin" if found["pin"] else "token" if found["key"] else "password"
    word = is_ and kind == "password" and is_said_word(value) and _ends(found, value)
    number = is_ and kind == "pin" and value.isdigit() and len(value) >= 4
    said = is_said(value) and not (is_ and found["verb"] is None)
    return _hidden(hide, found, value, kind) if word or number or said else found[0]


def _beside(hide: Hide, found: re.Match[str]) -> str:
    """Hide a value directly after the word, which must look like nothing but a secret."""
    value = _value(found)
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value)) and any(map(str.isdigit, value))
    certain = (
        mixed
        and len(value) <= 40
        and looks_random(value)
        and is_said(value)
        and re.fullmatch(r"[\w!#%+^~*@&?-]+", value)
    )
    return _hidden(hide, found, value, "token" if found["key"] else "password") if certain else found[0]


def _login(hide: Hide, found: re.Match[str]) -> str:
    value = _value(found)
    return _hidden(hide, found, value, "password") if is_said(value) and "/" not in value else found[0]


def _value(found: re.Match[str]) -> str:
    return found["value"].rstrip(",.;:)*")


def _ends(found: re.Match[str], value: str) -> bool:
    """Return whether the clause ends with the value."""
    return bool(found["mark"]) or _CLAUSE.match(found.string, found.start("value") + len(value)) is not None


def _hidden(hide: Hide, found: re.Match[str], value: str, kind: str) -> str:
    start = found.start("value") - found.start()
    return f"{found[0][:start]}{hide(value, kind)}{found[0][start + len(value) :]}"
