"""What servers answer, read as hostile input.

An answer is JSON of a stranger: any field may be missing, of another type, or a megabyte of something. `Answer` reads
one field at a time and names the field that is wrong; what nobody asks for is ignored, because servers add fields.
Texts come out plain: without control, direction and other invisible characters, on one line, and no longer than they
are good for.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin

from whet.errors import InvalidError, UsageError
from whet.skill.names import hidden
from whet.sources.web.addresses import PORTS, read_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.notes import Note


MANY_NOTES = 20
"""Notes of one kind that are told one by one; the rest is counted."""

_DESCRIPTION = 1024
_SHOWN = 60
_HINT = "The server may be of another kind or version. Try again later, or tell its publisher."
_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._+-]{0,126}[A-Za-z0-9_+-])?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Answer:
    """One JSON object of an answer, and where it stands in it."""

    __slots__ = ("_values", "_where")

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise bad_response(f"{where} is no object.")
        self._values: dict[str, Any] = value
        self._where = where

    def __contains__(self, field: str) -> bool:
        return self._values.get(field) is not None

    def text(self, field: str) -> str:
        """A text that must be there and must not be empty."""
        value = self.maybe(field)
        if not value:
            raise self._wrong(field, "is missing" if value is None else "is empty")
        return value

    def maybe(self, field: str) -> str | None:
        """A text, exactly as it stands there, or None where there is none."""
        value = self._values.get(field)
        if value is not None and not isinstance(value, str):
            raise self._wrong(field, f"is {kind_of(value)} and not a text")
        return value

    def prose(self, *fields: str) -> str:
        """The first of these texts that is there, fit to be shown."""
        for field in fields:
            text = plain(self.maybe(field) or "")
            if text:
                return text
        return ""

    def number(self, field: str) -> int:
        """A whole number that must be there and not be negative."""
        value = self._values.get(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            what = "is missing" if value is None else f"is {kind_of(value)} and not a whole number of 0 or more"
            raise self._wrong(field, what)
        return value

    def flag(self, field: str) -> bool:
        """Yes or no; no where nothing is said."""
        value = self._values.get(field)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(field, f"is {kind_of(value)} and not true or false")
        return bool(value)

    def part(self, field: str) -> Answer | None:
        """An object inside, or None where there is none."""
        value = self._values.get(field)
        return None if value is None else Answer(value, self._named(field))

    def needed(self, field: str) -> Answer:
        """An object inside that must be there."""
        part = self.part(field)
        if part is None:
            raise self._wrong(field, "is missing")
        return part

    def parts(self, field: str) -> Iterator[Answer]:
        """The objects of a list that must be there."""
        for index, value in enumerate(self.values(field)):
            yield Answer(value, f"{self._named(field)}[{index}]")

    def value(self, field: str) -> Any:
        """Whatever stands there; None where nothing does."""
        return self._values.get(field)

    def values(self, field: str) -> list[Any]:
        """A list that must be there, of whatever."""
        value = self._values.get(field)
        if not isinstance(value, list):
            raise self._wrong(field, "is missing" if value is None else f"is {kind_of(value)} and not a list")
        return value

    def sha256(self, field: str, prefix: str = "sha256:") -> str:
        """The 64 hexadecimal digits of a hash that must be there."""
        value = self.text(field)
        digits = value.removeprefix(prefix)
        if not value.startswith(prefix) or not _SHA256.fullmatch(digits):
            raise self._wrong(field, f"is {shown(value)} and not {prefix}<64 lowercase hexadecimal digits>")
        return digits

    def address_part(self, field: str) -> str:
        """A text that must be there and can stand in an address and a reference, such as an owner or a version."""
        value = self.text(field)
        if not _PART.fullmatch(value):
            raise self._wrong(field, f"is {shown(value)}, which cannot be a part of an address")
        return value

    def _named(self, field: str) -> str:
        return f"{self._where}.{field}"

    def _wrong(self, field: str, what: str) -> InvalidError:
        return bad_response(f"The field {field} of {self._where} {what}.")


def parsed(body: bytes, where: str) -> Any:
    """The JSON of an answer. Raises InvalidError `bad-response`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise bad_response(
            f"What came from {where} is no JSON." if "://" in where else f"{where} is no JSON."
        ) from error


def bad_response(message: str) -> InvalidError:
    """The refusal of an answer that makes no sense."""
    return InvalidError("bad-response", message, hint=_HINT)


def plain(text: str, most: int = _DESCRIPTION) -> str:
    """A text of a stranger as it can be shown: visible, on one line, not too long."""
    text = text[: 4 * most]
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if character.isspace() else character for character in text)
        text = "".join(character for character in text if character.isprintable() and not hidden(character))
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown(value: object) -> str:
    """A value of a stranger as it can stand in a sentence."""
    return repr(plain(value, _SHOWN)) if isinstance(value, str) else kind_of(value)


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    kinds: tuple[tuple[type, str], ...] = ((str, "a text"), (list, "a list"), (dict, "an object"))
    return next((words for kind, words in kinds if isinstance(value, kind)), "a number")


def asked_part(text: str, what: str) -> str:
    """A part of a reference that somebody gave, if it can stand in an address. Raises UsageError `bad-source`."""
    if not _PART.fullmatch(text):
        hint = "Use letters, digits, hyphens, dots, plus signs and underscores."
        raise UsageError("bad-source", f"{shown(text)} cannot be {what}.", hint=hint)
    return text


def quoted(text: str) -> str:
    """A text as one part of a path, or as a value of a query, of an address."""
    return quote(text, safe="", errors="replace")


def origin_of(url: str) -> tuple[str, str, int]:
    """Whom an address belongs to, as it is read when it is visited; empty where it is no address."""
    try:
        return read_address(url).origin
    except (UsageError, ValueError):
        return "", "", 0


def address_in(base: str, text: str) -> str:
    """The web address that a text in an answer from `base` means. Raises InvalidError `bad-response`."""
    try:
        address = read_address(urljoin(base, text))
    except (UsageError, ValueError):
        raise bad_response(f"The url {shown(text)} is no web address.") from None
    if address.scheme not in PORTS:
        raise bad_response(f"The url {shown(text)} is no web address.")
    return address.url


def told(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Notes as a report can hold them: of each code the first ones, and how many more there are."""
    kept: list[Note] = []
    counts: dict[str, int] = {}
    for entry in notes:
        counts[entry.code] = counts.get(entry.code, 0) + 1
        if counts[entry.code] <= MANY_NOTES:
            kept.append(entry)
    for code, count in counts.items():
        if count > MANY_NOTES:
            first = next(entry for entry in kept if entry.code == code)
            more = f"There are {count - MANY_NOTES} more like this."
            kept.append(first._replace(skill="", message=more, hint=""))
    return tuple(kept)
