"""Asking the recorded sources what they have now, each place once, however many skills come from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, WhetError
from whet.sources.concurrency import map_concurrently
from whet.sources.git.source import GitSource
from whet.sources.install.installer import checked, remarks
from whet.sources.opening import open_source
from whet.sources.packages import choose
from whet.sources.refs.reading import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.sources.install.installer import Installer
    from whet.sources.lock.file import Installed
    from whet.sources.model import Fetched, Listing, Offer, Ref, Source

_WITH_SEVERAL = ("git", "well-known", "path", "archive", "url")
"""Kinds of sources where one look tells of all skills they have."""
_WITH_REVISIONS = ("git", "hub", "clawhub", "url")
"""Kinds of sources that can be asked for an earlier revision, or at least for that one and no other."""


class Answer(NamedTuple):
    """What a source says of one installed skill."""

    entry: Installed
    offer: Offer | None = None
    package: Fetched | None = None
    """Its content, if that was asked for."""
    error: WhetError | None = None
    """Why there is none."""


class _Asked(NamedTuple):
    """One skill and where it comes from."""

    entry: Installed
    ref: Ref


def ask(
    installer: Installer,
    entries: Iterable[Installed],
    fetches: Callable[[Installed, Offer], bool],
    *,
    recorded: bool = False,
) -> list[Answer]:
    """What the sources have of these skills now; contents where `fetches` says so. One that fails fails alone.

    With `recorded`, what they had at the recorded revision, where a source can tell.
    """
    groups: dict[Ref, list[_Asked]] = {}
    answers = []
    for entry in entries:
        try:
            ref = installer.ref_of(entry)
            installer.check_own(ref)
        except WhetError as error:
            answers.append(Answer(entry, error=error))
            continue
        if recorded and entry.revision and ref.kind in _WITH_REVISIONS:
            ref = ref._replace(ref=entry.revision)
        place = ref._replace(path="") if ref.kind in _WITH_SEVERAL else ref
        groups.setdefault(place, []).append(_Asked(entry, ref))

    def told(group: tuple[Ref, list[_Asked]]) -> list[Answer]:
        place, members = group
        try:
            known = {} if recorded else {ref.path: entry.marker for entry, ref in members}
            return _told(installer, place, members, fetches, known)
        except WhetError as error:
            if error.code == "cancelled":
                raise
            return [Answer(entry, error=error) for entry, _ in members]

    for group in map_concurrently(told, tuple(groups.items()), installer.reach):
        answers.extend(group)
    return answers


def _told(
    installer: Installer,
    place: Ref,
    members: Sequence[_Asked],
    fetches: Callable[[Installed, Offer], bool],
    known: Mapping[str, str],
) -> list[Answer]:
    names = [ref.path for _, ref in members]
    source = open_source(place, installer.reach)
    if isinstance(source, GitSource):
        source.known = known
    try:
        # A skill at the root of its source has no path of its own: then everything is listed.
        listing = source.inspect(names if all(names) else ())
        answers = [_allowed(installer, _answer(listing, asked)) for asked in members]
        wanted = {each.offer for each in answers if each.offer and fetches(each.entry, each.offer)}
        contents = _contents(source, [offer for offer in listing.offers if offer in wanted])
    finally:
        source.close()
    return [_with_content(each, contents, listing) for each in answers]


def _allowed(installer: Installer, answer: Answer) -> Answer:
    """The answer, unless a source leads on to where the lock itself could not have led."""
    try:
        if answer.offer:
            installer.check_own(answer.offer.ref)
    except WhetError as error:
        return Answer(answer.entry, error=error)
    return answer


def _answer(listing: Listing, asked: _Asked) -> Answer:
    """The offer that is this skill: the one at its path, else the one of its name, wherever it lies by now."""
    entry, ref = asked
    if ref.kind not in _WITH_SEVERAL and len(listing.offers) == 1:
        return Answer(entry, listing.offers[0])
    same = [offer for offer in listing.offers if offer.ref.path == ref.path]
    try:
        return Answer(entry, *(same or choose(listing, (entry.name,), all=False)))
    except NotFoundError:
        hint = f"`whet inspect` shows what there is; `whet pin {entry.name}` keeps yours."
        error = NotFoundError("gone-from-source", f"{shown(ref)} has no skill there any more.", hint=hint)
        return Answer(entry, error=error)
    except WhetError as error:  # several of that name, or one that cannot be taken
        return Answer(entry, error=error)


def _contents(source: Source, offers: Sequence[Offer]) -> dict[Offer, Fetched | WhetError]:
    """The content of each offer, or why it cannot be taken."""
    try:
        packages = source.fetch(offers) if offers else ()
    except InvalidError as error:
        if len(offers) == 1:
            return {offers[0]: error}
        return {offer: found for one in offers for offer, found in _contents(source, [one]).items()}
    return {offer: _checked(package) for offer, package in zip(offers, packages, strict=True)}


def _checked(package: Fetched) -> Fetched | WhetError:
    try:
        return checked(package)
    except InvalidError as error:
        return error


def _with_content(answer: Answer, contents: dict[Offer, Fetched | WhetError], listing: Listing) -> Answer:
    if answer.offer is None or answer.offer not in contents:
        return answer
    found = contents[answer.offer]
    if isinstance(found, WhetError):
        return Answer(answer.entry, error=found)
    own = [note for note in remarks(listing, (answer.offer,)) if note.skill]
    return answer._replace(package=found._replace(notes=(*found.notes, *own)))
