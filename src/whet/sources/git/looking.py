"""From all the files of a commit to the skills that are meant, with no more of them fetched than that takes.

Links between directories are how repositories show one skill to several clients: a link to a directory is no skill of
its own, but leads to one, also to one that would not have been found otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import AmbiguousError, InvalidError, NotFoundError, WhetError
from whet.notes import Note
from whet.skill.finder import MAIN_FILES, find_skills, main_file, parents
from whet.skill.names import closest, key
from whet.skill.paths import shown
from whet.sources.git.failures import shown_location
from whet.sources.git.objects import links_on
from whet.sources.packages import described, nothing_found, offer_of, refusal
from whet.sources.registries.marketplace import FILE, group_by_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.sources.git.contents import Contents
    from whet.sources.model import Offer, Ref
    from whet.sources.packages import Described

_LISTED = 10


class Look:
    """One look at a commit: from all its files to the skills that are meant."""

    def __init__(self, ref: Ref, contents: Contents, names: set[str], known: Mapping[str, str]) -> None:
        self.ref = ref
        self.contents = contents
        self.all = contents.snapshot.files
        self.names = names
        self.known = known
        self.repository = ref.location.rstrip("/").rpartition("/")[2].removesuffix(".git")
        self.files: dict[str, list[str]] = {}
        self.offers: list[Offer] = []
        self.notes: list[Note] = []
        self.refusals: list[WhetError] = []

    def run(self) -> None:
        """Find the skills, bring what is needed of them, and describe them."""
        base = self._base()
        directories = self._directories(base)
        chosen = [item for item in directories if not self.names or self.names & self._spellings(item)]
        named = {name for item in chosen for name in self._spellings(item)}
        links = [
            link for link in self._links(base, directories) if not self.names or key(_last(link)) in self.names - named
        ]
        self._own(chosen)
        marketplace = [FILE] if FILE in self.all else []
        new = (item for item in chosen if not self._is_known(item))
        self.contents.bring([*links, *marketplace, *(path for item in new for path in self.files[item])])
        chosen += self._linked(links, directories)
        said = self._describe(chosen)
        if self.names and not self.names <= {
            spelling for item in said for spelling in (key(said[item].name), key(item or "."))
        }:
            chosen = [*chosen, *(item for item in directories if item not in said)]
            self._own(chosen)
            self.contents.bring(main_file(self.all, item) for item in chosen)
            said = self._describe(chosen)
        self._offer(said, marketplace)

    def _is_known(self, directory: str) -> bool:
        """Whether a skill is what it was when its marker was noted."""
        marker = self.known.get(directory)
        return bool(marker) and marker == self.contents.snapshot.trees.get(directory)

    def _base(self) -> str:
        """The directory that the reference names: itself, behind links, or that of the one skill of this name."""
        path, snapshot = self.ref.path, self.contents.snapshot
        if links_on(snapshot, path):
            path = self.contents.led([path]).get(path, path)
        if path in snapshot.trees:
            return path
        if path in self.all and _last(path) in MAIN_FILES:
            return path.rpartition("/")[0]
        directories = find_skills(self._paths(""))
        same = [item for item in directories if f"/{item}".endswith(f"/{path}")]
        if len(same) == 1:
            return same[0]
        where = f"{shown_location(self.ref.location)} at {self.contents.commit[:12]}"
        if same:
            message = f"{len(same)} skills in {where} answer to {shown(path)}: {', '.join(same[:_LISTED])}."
            raise AmbiguousError("ambiguous-skill", message, hint="Name one by its whole path.", candidates=same)
        near = list(closest(path, directories)) or list(closest(_last(path), directories))
        hint = (
            f"Did you mean {', '.join(near)}?" if near else "Look at the repository without a path to see what it has."
        )
        raise NotFoundError("no-such-path", f"There is no {shown(path)} in {where}.", hint=hint, suggestions=near)

    def _directories(self, base: str) -> list[str]:
        return ["/".join(filter(None, (base, item))) for item in find_skills(self._paths(base))]

    def _paths(self, base: str) -> list[str]:
        """The files below a directory, relative to it."""
        prefix = f"{base}/" if base else ""
        return [path[len(prefix) :] for path, node in self.all.items() if path.startswith(prefix) and not node.module]

    def _spellings(self, directory: str) -> set[str]:
        """What a skill may be called before its main file is read."""
        return {key(directory or "."), key(_last(directory) or self.repository)}

    def _links(self, base: str, directories: Iterable[str]) -> list[str]:
        """The links below the base that are not part of a skill."""
        inside, prefix = set(directories), f"{base}/" if base else ""
        found = (path for path, node in self.all.items() if node.link and path.startswith(prefix))
        return [path for path in found if inside.isdisjoint(parents(path))]

    def _linked(self, links: Sequence[str], directories: Sequence[str]) -> list[str]:
        """Skills that only links lead to; the links to the others are noted."""
        added: list[str] = []
        known = set(directories)
        for link, end in self.contents.led(links).items():
            if end in known or any(item.startswith(f"{end}/") for item in directories):
                path, place = _plain(link), _plain(end) or "the root"
                message = f"{path} is a link to {place}; what is there is listed once, there."
                self.notes.append(Note("linked-skill", "info", message, skill=_last(path), path=path))
            elif end in self.contents.snapshot.trees and main_file(self.all, end):
                known.add(end)
                added.append(end)
        self._own(added)
        self.contents.bring(path for item in added for path in self.files[item])
        return added

    def _own(self, directories: Iterable[str]) -> None:
        """Note which files belong to each of these directories."""
        new: dict[str, list[str]] = {item: [] for item in directories if item not in self.files}
        if not new:
            return
        for path in self.all:
            for above in parents(path):
                if above in new:
                    new[above].append(path)
        self.files.update(new)

    def _describe(self, directories: Iterable[str]) -> dict[str, Described]:
        mains = {item: main_file(self.all, item) for item in directories}
        links = [path for item in mains for path in self.files[item] if self.all[path].link]
        known = self.contents.read([*mains.values(), *links])
        return {item: described(item, known.get(mains[item], b""), fallback=self.repository) for item in sorted(mains)}

    def _offer(self, said: Mapping[str, Described], marketplace: list[str]) -> None:
        groups = group_by_plugin(self.contents.read(marketplace).get(FILE, b""), said)
        for directory, description in said.items():
            try:
                if not self._is_known(directory):
                    self.contents.sketch(directory, self.files[directory])
            except InvalidError as error:
                self.refusals.append(error)
                self.notes.append(refusal(error, _plain(description.name), _plain(directory)))
                continue
            marker = self.contents.snapshot.trees[directory]
            offer = offer_of(
                self.ref._replace(path=directory), description, revision=self.contents.commit, marker=marker
            )
            self.offers.append(offer._replace(group=groups.get(directory, "")))
        if not self.offers:
            where = f"{shown_location(self.ref.location)}{f'/{self.ref.path}' if self.ref.path else ''}"
            raise self.refusals[0] if self.refusals else nothing_found(where)


def _plain(text: str) -> str:
    """A name that a stranger chose, as it can be printed anywhere."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _last(path: str) -> str:
    return path.rpartition("/")[2]
