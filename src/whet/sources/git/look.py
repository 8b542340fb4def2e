"""Find the requested skills among the files of a commit, fetching as few files as possible.

`Contents` knows the fetched files and their sizes, and makes packages of them; `Look` finds the skills. Repositories
use links between directories to show one skill to several clients: a link to a directory is not another skill, but
leads to one, even to one that would not be found otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import AmbiguousError, FailedError, InvalidError, NotFoundError, WhetError
from whet.notes import Note
from whet.skill import paths
from whet.skill.archive import refused
from whet.skill.finder import MAIN_FILES, find_skills, main_file, parents
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.names import closest, key
from whet.skill.paths import shown
from whet.skill.tree import DEFAULT_LIMITS, Item, Tree, ignored
from whet.sources.git.failures import shown_location
from whet.sources.git.program import too_large
from whet.sources.git.remote import ASKED, followed, links_on
from whet.sources.packages import FETCH_BYTES, check_amount, describe, nothing_found, package_at, refusal
from whet.sources.registries.marketplace import FILE, group_by_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.sources.git.remote import Node, Remote, Snapshot
    from whet.sources.model import Offer, Ref

EVERYTHING = f"blob:limit={DEFAULT_LIMITS.file_bytes + 1}"
"""Filter: all files except those too large for any package."""
LISTING = "blob:none"
"""Filter: the names of all files, without contents."""
_MIB = 1024 * 1024
_MAX_LINKS = 5_000
_LISTED = 10


class Contents:
    """The files of a commit. With `parts`, files are fetched on demand; otherwise they are all here."""

    def __init__(self, remote: Remote, commit: str, snapshot: Snapshot, *, parts: bool) -> None:
        self.commit = commit
        self.snapshot = snapshot
        self._remote = remote
        self._parts = parts
        self._sizes: dict[str, int] = {}
        self._small: dict[str, bytes] = {}
        """Main files and the targets of links that were read."""

    def bring(self, files: Iterable[str]) -> None:
        """Make sure that these files are here and their sizes known, with at most one request."""
        unknown = self._unweighed(files)
        self._weigh(unknown)
        if self._parts and (missing := [oid for oid in unknown if oid not in self._sizes]):
            if self._remote.fetch_objects(missing):
                self._bring_everything()
            self._weigh(missing)
            still = [oid for oid in missing if oid not in self._sizes]
            if still and self._parts:
                message = f"The server did not send {len(still)} of the requested files."
                raise FailedError("git-failed", message, hint="Try again.", missing=still[:10])

    def read(self, files: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of those of these small files that are here, and cache them."""
        nodes = {path: self.snapshot.files[path] for path in files if path in self.snapshot.files}
        oids = [node.oid for node in nodes.values() if node.oid not in self._small and not node.module]
        readable = [oid for oid in dict.fromkeys(oids) if self._sizes.get(oid, MAX_DOCUMENT + 1) <= MAX_DOCUMENT]
        _check_total(self._sizes[oid] for oid in readable)
        self._small.update(self._remote.contents(readable))
        return {path: self._small[node.oid] for path, node in nodes.items() if node.oid in self._small}

    def led(self, links: Iterable[str]) -> dict[str, str]:
        """Resolve paths through links; leave out those that leave the repository or do not exist."""
        wanted = list(links)
        if not wanted:
            return {}
        every = [path for path, node in self.snapshot.files.items() if node.link][:_MAX_LINKS]
        self.bring(every)
        self.read(every)
        ends = {path: followed(self.snapshot, path, self._small) for path in wanted}
        return {path: end for path, end in ends.items() if end is not None}

    def sketch(self, directory: str, files: Iterable[str]) -> None:
        """Raise InvalidError if names, sizes, links or the main file show that this cannot be a package."""
        listed = list(files)
        nodes = self._checked(directory, listed)
        main = main_file(nodes, directory)
        known = self.read([path for path, node in nodes.items() if node.link or path == main])
        if main and main not in known:
            raise refused("archive-too-large", f"The main file {paths.shown(main)} has more than {MAX_DOCUMENT} bytes.")
        package_at({path: _item(node, known.get(path, b"")) for path, node in nodes.items()}, directory)

    def packages(self, wanted: Mapping[str, Iterable[str]]) -> list[Tree]:
        """Return the packages in these directories with these files, each complete. Raises WhetError."""
        listed = {directory: list(files) for directory, files in wanted.items()}
        self.bring(path for files in listed.values() for path in files)
        nodes = {directory: self._checked(directory, files) for directory, files in listed.items()}
        oids = [node.oid for found in nodes.values() for node in found.values()]
        _check_total(self._sizes[oid] for oid in oids)
        data = {**self._small, **self._remote.contents(oid for oid in oids if oid not in self._small)}
        return [
            package_at({path: _item(node, data[node.oid]) for path, node in found.items()}, directory)
            for directory, found in nodes.items()
        ]

    def _checked(self, directory: str, files: Iterable[str]) -> dict[str, Node]:
        """Return the files of a package; raise InvalidError for a submodule, a duplicate path or a large file."""
        prefix = f"{directory}/" if directory else ""
        nodes = {path: self.snapshot.files[path] for path in files if not ignored(path[len(prefix) :])}
        if directory not in self.snapshot.trees:
            raise refused("archive-unsafe-path", f"The repository has no directory {paths.shown(directory)}.")
        for path in self.snapshot.doubled:
            if path.startswith(prefix) or path == directory:
                raise refused("archive-collision", f"The path {paths.shown(path)} appears twice.")
        for path, node in nodes.items():
            if node.module:
                hint = "Ask the author to include the files, or install from that repository."
                raise InvalidError("submodule", f"{paths.shown(path)} is a submodule in another repository.", hint=hint)
            if not self._parts and node.oid not in self._sizes:
                most = DEFAULT_LIMITS.file_bytes // _MIB
                raise refused("archive-too-large", f"The file {paths.shown(path)} has more than {most} MiB.")
        check_amount(directory, (self._sizes.get(node.oid, 0) for node in nodes.values()))
        return nodes

    def _unweighed(self, files: Iterable[str]) -> list[str]:
        nodes = (self.snapshot.files[path] for path in files)
        return list(dict.fromkeys(node.oid for node in nodes if not node.module and node.oid not in self._sizes))

    def _weigh(self, oids: Iterable[str]) -> None:
        self._sizes.update(self._remote.sizes(oids))

    def _bring_everything(self) -> None:
        """Fetch everything from a server that lists files without contents but does not serve single ones."""
        self._remote.start(sha256=len(self.commit) > 40)
        if self._remote.fetch([f"+{self.commit}:{ASKED}"]):
            message = "The server offers neither single files nor this commit."
            raise FailedError("git-failed", message, hint="Install the whole repository, without a path.")
        self._parts = False


def _item(node: Node, data: bytes) -> Item:
    return Item(data, node.executable, node.link)


def _check_total(sizes: Iterable[int]) -> None:
    if sum(sizes) > FETCH_BYTES:
        raise too_large(f"Together, the skills have more than {FETCH_BYTES // _MIB} MiB.")


class Look:
    """Finds the requested skills in a commit."""

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
        """Find the skills, fetch the files they need, and describe them."""
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
        if not self.names:
            self._note_submodules(base, chosen)
        self._offer(said, marketplace)

    def _note_submodules(self, base: str, directories: Iterable[str]) -> None:
        """Note the submodules outside of skills: their files are in other repositories, and no skill is found there."""
        inside, prefix = set(directories), f"{base}/" if base else ""
        for path, node in self.all.items():
            if node.module and path.startswith(prefix) and inside.isdisjoint(parents(path)):
                message = f"{_plain(path)} is a submodule; Whet does not look for skills in it."
                hint = "If it has skills, install them from its own repository."
                self.notes.append(Note("submodule-skipped", "info", message, hint, path=_plain(path)))

    def _is_known(self, directory: str) -> bool:
        """Return whether the marker of a skill is unchanged."""
        marker = self.known.get(directory)
        return bool(marker) and marker == self.contents.snapshot.trees.get(directory)

    def _base(self) -> str:
        """Return the directory of the reference: itself, behind links, or that of the only skill with this name."""
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
            message = f"{len(same)} skills in {where} are named {shown(path)}: {', '.join(same[:_LISTED])}."
            raise AmbiguousError("ambiguous-skill", message, hint="Use the full path of one.", candidates=same)
        near = list(closest(path, directories)) or list(closest(_last(path), directories))
        hint = (
            f"Did you mean {', '.join(near)}?" if near else "Inspect the repository without a path to see its skills."
        )
        raise NotFoundError("no-such-path", f"There is no {shown(path)} in {where}.", hint=hint, suggestions=near)

    def _directories(self, base: str) -> list[str]:
        return ["/".join(filter(None, (base, item))) for item in find_skills(self._paths(base))]

    def _paths(self, base: str) -> list[str]:
        """Return the files below a directory, relative to it."""
        prefix = f"{base}/" if base else ""
        return [path[len(prefix) :] for path, node in self.all.items() if path.startswith(prefix) and not node.module]

    def _spellings(self, directory: str) -> set[str]:
        """Return the possible names of a skill before its main file is read."""
        return {key(directory or "."), key(_last(directory) or self.repository)}

    def _links(self, base: str, directories: Iterable[str]) -> list[str]:
        """Return the links below the base that are not part of a skill."""
        inside, prefix = set(directories), f"{base}/" if base else ""
        found = (path for path, node in self.all.items() if node.link and path.startswith(prefix))
        return [path for path in found if inside.isdisjoint(parents(path))]

    def _linked(self, links: Sequence[str], directories: Sequence[str]) -> list[str]:
        """Return skills that only links lead to; note the links to other skills."""
        added: list[str] = []
        known = set(directories)
        for link, end in self.contents.led(links).items():
            if end in known or any(item.startswith(f"{end}/") for item in directories):
                path, place = _plain(link), _plain(end) or "the root"
                message = f"{path} is a link to {place}; its skills are listed once, there."
                self.notes.append(Note("linked-skill", "info", message, skill=_last(path), path=path))
            elif end in self.contents.snapshot.trees and main_file(self.all, end):
                known.add(end)
                added.append(end)
        self._own(added)
        self.contents.bring(path for item in added for path in self.files[item])
        return added

    def _own(self, directories: Iterable[str]) -> None:
        """Record the files of each of these directories."""
        new: dict[str, list[str]] = {item: [] for item in directories if item not in self.files}
        if not new:
            return
        for path in self.all:
            for above in parents(path):
                if above in new:
                    new[above].append(path)
        self.files.update(new)

    def _describe(self, directories: Iterable[str]) -> dict[str, Offer]:
        mains = {item: main_file(self.all, item) for item in directories}
        links = [path for item in mains for path in self.files[item] if self.all[path].link]
        known = self.contents.read([*mains.values(), *links])
        return {
            item: describe(
                self.ref._replace(path=item),
                known.get(mains[item], b""),
                fallback=self.repository,
                revision=self.contents.commit,
                marker=self.contents.snapshot.trees.get(item, ""),
            )
            for item in sorted(mains)
        }

    def _offer(self, said: Mapping[str, Offer], marketplace: list[str]) -> None:
        groups = group_by_plugin(self.contents.read(marketplace).get(FILE, b""), said)
        for directory, offer in said.items():
            try:
                if not self._is_known(directory):
                    self.contents.sketch(directory, self.files[directory])
            except InvalidError as error:
                self.refusals.append(error)
                self.notes.append(refusal(error, _plain(offer.name), _plain(directory)))
                continue
            self.offers.append(offer._replace(group=groups.get(directory, "")))
        if not self.offers:
            where = f"{shown_location(self.ref.location)}{f'/{self.ref.path}' if self.ref.path else ''}"
            raise self.refusals[0] if self.refusals else nothing_found(where)


def _plain(text: str) -> str:
    """Return an untrusted name in printable form."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _last(path: str) -> str:
    return path.rpartition("/")[2]
