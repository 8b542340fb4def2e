"""Shared parts of registries: requests, fetch limits, archives, errors, and JSON read as hostile input.

Any field of an answer may be missing, of another type, or very large. `Answer` reads one field at a time and names the
field that is wrong; unknown fields are ignored, because servers add them. Text for display is cleaned: without control,
direction and other invisible characters, on one line, and shortened.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote, urljoin

from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.notes import Progress
from whet.patterns import compile_late
from whet.skill.archive import unpack
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.names import closest, hidden, key
from whet.skill.tree import DEFAULT_LIMITS, Item, Tree
from whet.sources.age import read_time
from whet.sources.model import Listing, Offer, Ref
from whet.sources.packages import left_out, package_at, weigh
from whet.sources.web.addresses import PORTS, read_address
from whet.store.concurrency import together

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from whet.notes import Note
    from whet.sources.model import FetchContext, Fetched
    from whet.sources.web.request import Response
    from whet.values import Json

T = TypeVar("T")
N = TypeVar("N", bound="Named")
MOST_NOTES = 20
"""Notes with the same code that are listed; the rest is counted."""
_MOST_TEXT = 1024
_MOST_QUOTED = 60
_SEGMENT = compile_late(r"[A-Za-z0-9](?:[A-Za-z0-9._+-]{0,126}[A-Za-z0-9_+-])?")
_SHA256 = compile_late(r"[0-9a-f]{64}")
_TYPES: tuple[tuple[type, str], ...] = ((str, "a text"), (list, "a list"), (dict, "an object"))
ANSWER_BYTES = 8 * 1024 * 1024
"""Largest JSON answer in bytes."""
ARCHIVE_BYTES = DEFAULT_LIMITS.total_bytes
"""Largest archive of one skill in bytes, as sent."""
MAIN_BYTES = MAX_DOCUMENT
"""Largest main file in bytes."""
JSON = "application/json"


class Answer:
    """One JSON object of an answer, its position in the answer, and the address that sent it."""

    __slots__ = ("_values", "_where", "url")

    def __init__(self, value: object, where: str, url: str = "") -> None:
        if not isinstance(value, dict):
            raise bad_response(f"{where} is not an object.")
        self._values: Json = value
        self._where = where
        self.url = url

    def __contains__(self, field: str) -> bool:
        return self._values.get(field) is not None

    def value(self, field: str) -> Any:
        """Return the value of a field, of any type; None if it is missing."""
        return self._values.get(field)

    def fields(self) -> Iterable[tuple[str, Any]]:
        """Return all names and values, unchanged."""
        return self._values.items()

    def text(self, field: str) -> str:
        """Return a required, non-empty text."""
        value = self.optional_text(field)
        if not value:
            raise self._wrong(field, "is missing" if value is None else "is empty")
        return value

    def optional_text(self, field: str) -> str | None:
        """Return a text, unchanged, or None."""
        return self._read(field, str, "a text")

    def prose(self, *fields: str) -> str:
        """Return the first of these texts that is not empty, cleaned for display."""
        return next((text for field in fields if (text := clean_text(self.optional_text(field) or ""))), "")

    def number(self, field: str) -> int:
        """Return a required integer of 0 or more."""
        value = self._values.get(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            found = "is missing" if value is None else f"is {describe_type(value)}, not a whole number of 0 or more"
            raise self._wrong(field, found)
        return value

    def flag(self, field: str) -> bool:
        """Return a boolean; a missing one is false."""
        return bool(self._read(field, bool, "true or false"))

    def child(self, field: str) -> Answer:
        """Return a required object."""
        return Answer(self._require(field, dict, "an object"), f"{self._where}.{field}", self.url)

    def optional_child(self, field: str) -> Answer | None:
        """Return an object, or None."""
        return self.child(field) if field in self else None

    def items(self, field: str) -> list[Any]:
        """Return a required list."""
        return self._require(field, list, "a list")

    def children(self, field: str) -> Iterator[Answer]:
        """Yield the objects of a required list."""
        for index, value in enumerate(self.items(field)):
            yield Answer(value, f"{self._where}.{field}[{index}]", self.url)

    def sha256(self, field: str, prefix: str = "sha256:") -> str:
        """Return the 64 hexadecimal digits of a required hash."""
        value = self.text(field)
        digits = value.removeprefix(prefix)
        if not value.startswith(prefix) or not _SHA256.fullmatch(digits):
            raise self._wrong(field, f"is {quote_text(value)} and not {prefix}<64 lowercase hexadecimal digits>")
        return digits

    def segment(self, field: str) -> str:
        """Return a required text that can be one segment of an address, such as an owner or a version."""
        value = self.text(field)
        if not _SEGMENT.fullmatch(value):
            raise self._wrong(field, f"is {quote_text(value)}, which cannot be a part of an address")
        return value

    def address(self, field: str) -> str:
        """Return a required web address; a relative one is resolved against the address of the answer."""
        return resolve_address(self.url, self.text(field))

    def _require(self, field: str, kind: type[T], words: str) -> T:
        value = self._read(field, kind, words)
        if value is None:
            raise self._wrong(field, "is missing")
        return value

    def _read(self, field: str, kind: type[T], words: str) -> T | None:
        value = self._values.get(field)
        if value is not None and not isinstance(value, kind):
            raise self._wrong(field, f"is {describe_type(value)} and not {words}")
        return value

    def _wrong(self, field: str, what: str) -> InvalidError:
        return bad_response(f"The field {field} of {self._where} {what}.")


def parse_json(body: bytes, where: str) -> Any:
    """Parse the JSON of an answer. Raise InvalidError `bad-response`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        name = f"The answer from {where}" if "://" in where else where
        raise bad_response(f"{name} is not valid JSON.") from error


def bad_response(message: str) -> InvalidError:
    """Return the error for a malformed answer."""
    hint = "The server may be of another kind or version. Try again later, or tell the publisher."
    return InvalidError("bad-response", message, hint=hint)


def clean_text(text: str, most: int = _MOST_TEXT) -> str:
    """Return a text for display: visible characters, on one line, shortened."""
    text = text[: 4 * most]
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if character.isspace() else character for character in text)
        text = "".join(character for character in text if character.isprintable() and not hidden(character))
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quote_text(value: object) -> str:
    """Return a value for a message: a text in quotes, anything else by its type."""
    return repr(clean_text(value, _MOST_QUOTED)) if isinstance(value, str) else describe_type(value)


def describe_type(value: object) -> str:
    """Return the type of a JSON value in words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return next((words for kind, words in _TYPES if isinstance(value, kind)), "a number")


def check_segment(text: str, what: str) -> str:
    """Return the text if it can be one segment of an address. Raise UsageError `bad-source` otherwise."""
    if not _SEGMENT.fullmatch(text):
        hint = "Use letters, digits, hyphens, dots, plus signs and underscores."
        raise UsageError("bad-source", f"{quote_text(text)} cannot be {what}.", hint=hint)
    return text


def split_path(path: str) -> tuple[str, str]:
    """Split `owner/name`; the owner is "" if only a name is given. Raise UsageError `bad-source`."""
    owner, slash, name = path.removeprefix("@").rpartition("/")
    return check_segment(owner, "an owner") if slash else "", check_segment(name, "the name of a skill")


def quote_segment(text: str) -> str:
    """Percent-encode a text as one segment of a path or one value of a query."""
    return quote(text, safe="", errors="replace")


def get_origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address as the client reads it; empty if it is not an address."""
    try:
        return read_address(url).origin
    except (UsageError, ValueError):
        return "", "", 0


def resolve_address(base: str, text: str) -> str:
    """Resolve an address in an answer from `base`. Raise InvalidError `bad-response`."""
    try:
        address = read_address(urljoin(base, text))
        if address.scheme in PORTS:
            return address.url
    except (UsageError, ValueError):
        pass
    raise bad_response(f"The url {quote_text(text)} is not a web address.")


def limit_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the first notes of each code, and one that counts the rest."""
    by_code: dict[str, list[Note]] = {}
    kept: list[Note] = []
    for note in notes:
        same = by_code.setdefault(note.code, [])
        same.append(note)
        if len(same) <= MOST_NOTES:
            kept.append(note)
    for first, *others in by_code.values():
        if (more := len(others) + 1 - MOST_NOTES) > 0:
            kept.append(first._replace(skill="", message=f"There are {more} more like this.", hint=""))
    return tuple(kept)


class Named(Protocol):
    """An entry of a list."""

    @property
    def name(self) -> str:
        """Its name in the list."""


def read_entries(
    answer: Answer, field: str, wrong: Note, twice: Note, read: Callable[[Answer], N | None], notes: list[Note]
) -> tuple[N, ...]:
    """Read the entries of an untrusted list.

    A wrong entry is skipped, and the first of two entries with one name counts; `notes` gets a note about each, made
    from `wrong` and `twice`, which lack only the message and the entry they are about.
    """
    entries: dict[str, N] = {}
    for position, value in enumerate(answer.items(field)):
        where = f"{field}[{position}]"
        try:
            entry = read(Answer(value, where, answer.url))
        except (InvalidError, UsageError) as error:
            name = value.get("name") if isinstance(value, dict) else ""
            name = clean_text(name, 100) if isinstance(name, str) else ""
            notes.append(wrong._replace(message=f"{where} is skipped: {error.message}", skill=name))
            continue
        if entry is not None and key(entry.name) in entries:
            message = f"{where}: {entry.name} is listed twice; the first one is used."
            notes.append(twice._replace(message=message, skill=entry.name, path=answer.url))
        elif entry is not None:
            entries[key(entry.name)] = entry
    return tuple(entries.values())


class Registry:
    """A source that answers over HTTP. A subclass has `inspect`, and `fetch_one` or its own `fetch`."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        self.ref = ref
        self.context = context

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """List the skills of the registry. With names, at least every skill that matches one of them."""
        raise NotImplementedError

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Fetch the contents of these offers, several at a time; if one fails, the whole fetch fails."""
        size = FetchSize()
        return tuple(together(lambda offer: self.fetch_within(offer, size), offers))

    def fetch_one(self, offer: Offer) -> Fetched:
        """Fetch the content of one offer. Raises WhetError."""
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: no connection is kept open."""

    # for subclasses

    def fetch_within(self, offer: Offer, size: FetchSize) -> Fetched:
        """Fetch one offer and count it in the size of the whole fetch; an error names the skill."""
        try:
            package = self.fetch_one(offer)
            size.add(package.tree)
        except WhetError as error:
            raise prefix_error(error, offer.name) from error
        return package

    def get(
        self,
        url: str,
        *,
        limit: int = ANSWER_BYTES,
        accept: str = "*/*",
        headers: Mapping[str, str] | None = None,
        sha256: str = "",
        name: str = "",
    ) -> Response:
        """Fetch an address, checking the hash if one is given. `name` reports progress. Raises WhetError.

        Called from several threads at once.
        """
        context = self.context
        context.check_cancelled()
        return context.web.get(
            url,
            limit=limit,
            accept=accept,
            headers=headers or {},
            sha256=sha256,
            progress=(lambda done, total: context.progress(Progress(name, done, total))) if name else None,
            cancelled=context.cancelled,
        )

    def get_json(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Request a path of the registry's API. Raises WhetError."""
        url = f"{self.ref.location}/api/v1/{path}".rstrip("/")
        response = self.get(url, accept=JSON, headers=headers)
        return Answer(parse_json(response.body, response.url), "the answer", response.url)

    def fetch_archive(
        self,
        url: str,
        name: str,
        *,
        sha256: str = "",
        size: int = -1,
        headers: Mapping[str, str] | None = None,
        without: Collection[str] = (),
    ) -> tuple[Tree, tuple[Note, ...]]:
        """Fetch an archive; return its only skill, at the root or in its one directory, and notes. Raises WhetError.

        The archive must have this hash and, if one is given, this size. `without` names files at the root that the
        registry adds and that are not part of the skill.
        """
        return read_archive(self.get_sized(url, name, sha256=sha256, size=size, headers=headers), name, without)

    def get_sized(
        self, url: str, name: str, *, sha256: str = "", size: int = -1, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Fetch an archive and check its hash and, if one is given, its size. Raises WhetError."""
        limit = ARCHIVE_BYTES if size < 0 else min(size, ARCHIVE_BYTES)
        data = self.get(url, limit=limit, sha256=sha256, headers=headers, name=name).body
        if size >= 0 and len(data) != size:
            raise mismatch(f"the archive has {len(data)} bytes, not {size}")
        return data

    def offer(self, path: str, name: str, description: str, version: str, digest: str = "", *, ref: str = "") -> Offer:
        """Return the offer of a skill at an immutable version. `ref` is the version or tag that it follows."""
        place = Ref(self.ref.kind, self.ref.location, ref, path)
        return Offer(name, description, place, version, digest or version, version, digest)

    def published(self, ref: Ref, said: str, revision: str) -> int:
        """Return when a revision became public, if age matters; `said` is the time according to the server."""
        cooldown = self.context.cooldown
        return cooldown.looks.published(ref, read_time(said), revision) if cooldown else 0

    def list_found(self, found: Iterable[tuple[Offer, Sequence[Note]]]) -> Listing:
        """Return the listing of skills that were looked up one by one."""
        found = list(found)
        offers = tuple({offer.ref: offer for offer, _ in found}.values())
        revision = offers[0].revision if len(offers) == 1 else ""
        return Listing(self.ref, revision, offers, limit_notes(note for _, notes in found for note in notes))

    def missing(self, path: str, why: str = "") -> NotFoundError:
        """Return the error for a skill that the registry does not have."""
        message = f"{self.ref.location} has no skill {path}. {why}".strip()
        return NotFoundError("source-not-found", message, hint="`whet search` finds skills.")

    def not_listed(self, what: str, name: str, known: Iterable[str], notes: Iterable[Note]) -> WhetError:
        """Return the error for a name that a list does not have, or that was skipped."""
        for note in notes:
            if note.severity == "error" and note.skill and key(note.skill) == key(name):
                return InvalidError(note.code, note.message, hint=note.hint)
        near = closest(name, known)
        hint = f"Did you mean {', '.join(near)}?" if near else f"`whet show SOURCE` lists every {what}."
        message = f"There is no {what} {name!r} in {self.ref.location}."
        return NotFoundError("skill-not-in-source", message, hint=hint, suggestions=list(near))


class FetchSize:
    """Counts the bytes of all skills of one fetch, across threads."""

    __slots__ = ("_lock", "_total")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0

    def add(self, tree: Tree) -> None:
        """Count one skill. Raise InvalidError if all of them together are too large."""
        with self._lock:
            self._total = weigh(tree, self._total)


def read_archive(data: bytes, name: str, without: Collection[str] = ()) -> tuple[Tree, tuple[Note, ...]]:
    """Return the only skill in an archive, at its root or in its one directory, and notes. Raises WhetError."""
    package = unpack(data)
    extra = package.tree.keys() & {*without}
    files = {path: item for path, item in package.tree.items() if path not in extra}
    return package_at(files, ""), left_out((*package.skipped, *extra), name)


def make_package(main: bytes) -> Tree:
    """Return the package of a skill that is only a main file."""
    return package_at({MAIN_FILE: Item(main)}, "")


def mismatch(what: str) -> InvalidError:
    """Return the error for content that does not match its digest or size."""
    hint = "Try again later. If it persists, tell the publisher."
    return InvalidError("digest-mismatch", f"It does not match its source: {what}.", hint=hint)


def prefix_error(error: WhetError, name: str) -> WhetError:
    """Return the error with the name of the skill before its message."""
    return type(error)(error.code, f"{name}: {error.message}", hint=error.hint, **error.details)
