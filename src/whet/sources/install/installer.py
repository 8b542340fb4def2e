"""The installer of one root: its lock, its policy, and the skills that its sources offer.

A source returns a package as a value. Its format and its expected digest are checked, the guard scans it, and the
policy decides by the trust of its source; only then does it become part of a plan. An installer is made for one
operation: when one of several fetches fails, it ends the others. Each recorded source is asked once, however many
skills come from it.
"""

from __future__ import annotations

import itertools
import os
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING

from whet.authoring.main_file import main_of
from whet.authoring.trees import digest
from whet.errors import AmbiguousError, ConflictError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.guard.hosts import host_of
from whet.guard.policy import NO_MACHINE_POLICY
from whet.guard.trust import GALLERY, origin_trust, source_of
from whet.library.files import inside
from whet.library.package import read_tree
from whet.library.repository import find_remotes, find_repository
from whet.notes import Note, Progress
from whet.records import NamedTuple
from whet.skill.names import closest, key
from whet.skill.signature import check_signature, is_same_signer, matches_signer
from whet.skill.versions import in_range
from whet.sources.age import DAY, Cooldown, Looks, describe_age, is_exact, is_local
from whet.sources.git.source import GitSource
from whet.sources.hub_logs import HubLogs, StateMemory
from whet.sources.lock.file import lock_file, opened_source
from whet.sources.lock.foreign import without_record
from whet.sources.lock.installs import directory_of, relative_path
from whet.sources.model import open_source
from whet.sources.packages import choose, refusal
from whet.sources.refs.parse import file_path, read_ref, ref_text, ref_trust, show_source, shown
from whet.store.concurrency import together
from whet.values import Json, answer_json, as_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.authoring.editor import SkillEditor
    from whet.guard.gate import Judgement
    from whet.guard.policy import MachinePolicy
    from whet.library.config import ResolvedConfig
    from whet.library.repository import Repository
    from whet.library.workspace import Workspace
    from whet.skill.tree import Tree
    from whet.sources.lock.file import Installed
    from whet.sources.lock.installs import Installs
    from whet.sources.model import FetchContext, Fetched, Listing, Offer, Ref, Source

DOUBTS = ("commit-not-on-branch", "commit-unconfirmed", "moved-elsewhere")
"""Codes of the notes that put the author of a package in doubt, whatever its address says."""


class Wanted(NamedTuple):
    """A request for skills of a source."""

    ref: Ref
    names: tuple[str, ...] = ()
    every: bool = False
    notes: tuple[Note, ...] = ()
    """Notes about how the source was found."""


class Got(NamedTuple):
    """The packages that a source returned, with notes."""

    packages: list[Fetched]
    notes: list[Note]


def check_source(machine: MachinePolicy, address: str, told: str) -> None:
    """Raise RefusedError if the policy of this machine does not allow an address, or if the policy cannot be read."""
    machine.check()
    if not machine.allows(address):
        message = f"The policy of this machine does not allow the source {told}."
        hint = f"{machine.path} lists the sources that are allowed."
        raise RefusedError("source-not-allowed", message, hint=hint)


class Installer:
    """Reads the skills and the lock of one root, and fetches, checks and judges what goes into it."""

    def __init__(
        self,
        workspace: Workspace,
        editor: SkillEditor,
        installs: Installs,
        reach: FetchContext,
        root: str,
        project: str = "",
        *,
        min_age: int | None = None,
    ) -> None:
        """Make an installer; `min_age` replaces the setting of that name."""
        self.workspace = workspace
        self._min_age = min_age
        self.journal = editor.journal
        self.writer = editor.writer
        self.committer = editor.committer
        self.installs = installs
        self.reach = reach
        self.root = os.path.realpath(root)
        self._lock_file = lock_file(self.root)
        self.base = os.path.dirname(self._lock_file)
        """Directory of the lock, to which its paths are relative."""
        self.project = os.path.realpath(project) if project else ""
        """Repository of the lock, which others may have written; "" for the user's own."""
        self._repositories: dict[str, Repository | None] = {}
        self._trust: dict[str, str] = {}

    # places

    def relative(self, directory: str) -> str:
        """Return the path of a directory as the lock records it."""
        return relative_path(self._lock_file, directory)

    def directory(self, relative: str) -> str:
        """Return the directory of a path in the lock."""
        return directory_of(self._lock_file, relative)

    def content(self, relative: str) -> Tree | None:
        """Return the current content of a skill's directory, or None if it does not exist."""
        directory = self.directory(relative)
        if os.path.lexists(directory) and not os.path.isdir(directory):
            raise ConflictError("not-a-package", f"{directory} is not a directory.", hint="Move it.", path=directory)
        return read_tree(directory)

    def is_intact(self, relative: str, entry: Installed) -> bool:
        """Return whether a directory still has the installed content, apart from the record file of another tool."""
        tree = self.content(relative)
        return tree is not None and digest(without_record(tree, dict(entry.files))) == entry.digest

    def linked(self, relative: str) -> str:
        """Return the real path of a skill whose directory is reached through a link, else ""."""
        directory = self.directory(relative)
        real = os.path.realpath(directory)
        return real if real != directory else ""

    def present(self) -> dict[str, str]:
        """Return the lock path and the name of every skill in the root, installed or not."""
        catalogue = self.workspace.snapshot().catalogue
        cards = (*catalogue.cards, *catalogue.waiting, *(loser for loser, _ in catalogue.shadowed))
        own = (card for card in cards if card.kind == "skill" and card.root.real == self.root)
        inner = {os.path.relpath(card.directory, card.root.path): card.name for card in own}
        inner.pop(os.curdir, None)  # a root that is a skill itself
        return {self.relative(os.path.join(self.root, path)): inner[path] for path in sorted(inner)}

    # the lock

    def installed(self) -> tuple[Installed, ...]:
        """Return the entries of the lock, by path."""
        return self.installs.entries(self.root)

    def set_pin(self, name: str, pinned: str) -> bool:
        """Add a pin to the lock or remove it; return whether the lock changed."""
        return self.installs.amend(
            self.root,
            lambda locked: {
                entry.path: entry._replace(pinned=pinned) for entry in self.called(name, tuple(locked.values()))
            },
        )

    def called(self, name: str, entries: Sequence[Installed], here: Mapping[str, str] | None = None) -> list[Installed]:
        """Return the entries that a name means: a path, a name here or at the source, or the name of a directory.

        `here` is the result of `present`, for callers that look up many names.
        """
        here, wanted = self.present() if here is None else here, key(name)
        for spellings in (
            lambda entry: (entry.path,),
            lambda entry: (entry.name, here.get(entry.path, entry.name)),
            lambda entry: (entry.path.partition("/")[2], os.path.basename(entry.path)),
        ):
            if found := [entry for entry in entries if wanted in map(key, spellings(entry))]:
                return found
        return []

    def named(self, names: Sequence[str]) -> tuple[Installed, ...]:
        """Return the installed skills with these names, or all. Raise NotFoundError or AmbiguousError."""
        entries, here = self.installed(), self.present() if names else {}
        found = []
        for name in names:
            own = self.called(name, entries, here)
            if not own:
                near = closest(name, [entry.name for entry in entries], 3)
                hint = f"Did you mean {near[0]}?" if near else "`whet list` shows what is installed."
                message = f"{name!r} is not installed in {self.root}."
                if mine := next((called for called in here.values() if key(called) == key(name)), ""):
                    message = f"{mine!r} is a skill of your own: it has no source."
                    hint, near = f"`whet skill validate {mine}` checks it.", ()
                raise NotFoundError("not-installed", message, hint=hint, suggestions=list(near))
            if len(own) > 1:
                candidates = [entry.path for entry in own]
                message = f"{len(own)} installed skills are named {name!r}: {', '.join(candidates)}."
                raise AmbiguousError(
                    "ambiguous-skill", message, hint="Use the path of one.", candidates=candidates, name=name
                )
            found.extend(own)
        return tuple(dict.fromkeys(found)) if names else entries

    def ref_of(self, entry: Installed) -> Ref:
        """Return the source of an installed skill. Raise WhetError if this version of Whet cannot read it."""
        return read_ref(opened_source(entry.source, self.base), self.reach.place)

    def show_source(self, entry: Installed) -> str:
        """Return a source as users write it."""
        return show_source(opened_source(entry.source, self.base), self.reach.place)

    def check_own(self, ref: Ref, entry: Installed | None = None) -> None:
        """Raise RefusedError for a local path that the lock of a repository names and that is outside the repository.

        If the user installed the skill of `entry` from that path, it can be updated.
        """
        if not self.project or ref.kind == "gallery":
            return
        self.reach.web.check_told(ref.location)
        remote = "://" in ref.location and not ref.location.startswith("file:")
        local = ref.location if remote or "://" not in ref.location else file_path(ref.location, self.reach.place)
        if not remote and not inside(os.path.realpath(local), self.project):
            if entry and ref.location == self.ref_of(entry).location and self.installs.was_installed(self.root, entry):
                return
            message = f"{shown(ref)} is outside {self.project}; a repository's lock may not point there."
            hint = "If you trust that directory, install it from there yourself: `whet install PATH --here`."
            raise RefusedError("outside-project", message, hint=hint)

    # deciding

    @cached_property
    def _config(self) -> ResolvedConfig:
        return self.workspace.config()

    def judged(self, tree: Tree, trust: str, source: str = "") -> Judgement:
        """Scan a content and decide by its trust and by its source as the lock records it."""
        gate = self.workspace.gate
        return gate.decide(gate.scan(tree, place_of_source(source)), trust, self._config.policy)

    def scan_ahead(self, packages: Iterable[Fetched]) -> None:
        """Scan several packages at once."""
        origins = ((package.tree, place_of_source(ref_text(package.offer.ref))) for package in packages)
        self.workspace.gate.scan_ahead(origins)

    def judged_package(self, package: Fetched, tree: Tree | None = None) -> Judgement:
        """Scan a package, or `tree` in its place, and decide by the trust of its source."""
        tree = package.tree if tree is None else tree
        return self.judged(tree, self.trust_in(package), ref_text(package.offer.ref))

    @property
    def own_trust(self) -> str:
        """Trust in files on this disk: the user's own; in a repository, the trust of the repository."""
        if not self.project:
            return "local"
        return "trusted" if self._config.trusted else "community"

    def trust(self, ref: Ref) -> str:
        """Return the trust of a source."""
        level = ref_trust(ref, self._config.settings.trusted_sources)
        if level != "local":
            return level
        directory = os.path.join(ref.location, ref.path)
        if directory not in self._trust:
            self._trust[directory] = self._checkout_trust(directory)
        return self._trust[directory]

    def _checkout_trust(self, directory: str) -> str:
        """Return the trust of a directory, independent of the working directory.

        A clone has the trust of its remotes, the least trusted one counts. A repository or directory that the user
        trusted stays trusted, but clones inside it do not become so. The user's own are the directories of the user's
        skills; any other directory may be a download.
        """
        directory = os.path.realpath(directory)
        repository = self._repository(directory)
        addresses = find_remotes(repository)
        foreign = addresses and not inside(self.project, repository.root)
        if self.project and inside(directory, self.project) and not foreign:
            return self.own_trust
        users = (root.real for root in self._config.roots if root.scope == "user")
        if not addresses and any(inside(directory, root) for root in users):
            return self.own_trust
        around = [known for known in self._trusted if inside(directory, known)]
        if addresses:
            around = [known for known in around if inside(known, repository.root)]
        if around or repository.identity in self._trusted:
            return "trusted"
        if not addresses:
            return "directory"
        levels = {origin_trust(address, self._config.settings.trusted_sources) for address in addresses}
        return "trusted" if levels == {"trusted"} else "community"

    def _repository(self, directory: str) -> Repository:
        return find_repository(directory, home=self.reach.place.home, known=self._repositories)

    @cached_property
    def _trusted(self) -> frozenset[str]:
        """Repositories and directories that the user trusted."""
        return frozenset(known.identity for known in self.workspace.decisions.trusted())

    def trust_in(self, package: Fetched) -> str:
        """Return the trust of a package: that of its source, unless another author may have put it there.

        Hosts also serve the commits of forks under the address of the original repository.
        """
        doubtful = any(note.code in DOUBTS for note in package.notes)
        return "community" if doubtful else self.trust(package.offer.ref)

    def trust_of(self, entry: Installed) -> str:
        """Return the trust of an installed skill; the lock can lower it, but not raise it."""
        if entry.trust == "community":
            return entry.trust
        return self.trust(self.ref_of(entry)) if entry.source else self.own_trust

    # the machine's policy

    @property
    def machine(self) -> MachinePolicy:
        """Policy that an administrator set for this machine. Raises RefusedError if it cannot be read."""
        policy = self._config.machine or NO_MACHINE_POLICY
        policy.check()
        return policy

    def check_allowed(self, ref: Ref) -> None:
        """Raise RefusedError if the policy of this machine does not allow a source."""
        if self.machine.allowed_sources is not None:
            check_source(self.machine, self.address(ref), shown(ref))

    def address(self, ref: Ref) -> str:
        """Return the real address of a source, in any spelling; in a registry, with owner and name of the skill."""
        if ref.kind == "gallery":
            return GALLERY
        if not is_local(ref):
            return f"{ref.location}/{ref.path}" if ref.kind in ("hub", "clawhub") and ref.path else ref.location
        plain = file_path(ref.location, self.reach.place) if "://" in ref.location else ref.location
        return os.path.realpath(os.path.join(plain, ref.path))

    def check_package(self, package: Fetched) -> Fetched:
        """Return the package if the policy of this machine allows its source, else raise RefusedError.

        A package behind a redirect, or from a commit that may belong to a fork, counts as from an unknown source.
        """
        self.check_allowed(package.offer.ref)
        doubt = next((note for note in package.notes if note.code in DOUBTS), None)
        if doubt and self.machine.allowed_sources is not None:
            message = (
                f"The policy of this machine does not allow skills that may come from another source. {doubt.message}"
            )
            raise RefusedError("source-not-allowed", message, hint=doubt.hint)
        return package

    # signatures

    @cached_property
    def trusted_keys(self) -> tuple[str, ...]:
        """Keys whose signatures count."""
        own = (key.key for key in self.workspace.decisions.trusted_keys())
        return self.machine.trusted_keys if self.machine.trusted_keys is not None else tuple(own)

    def signer(self, tree: Tree) -> str:
        """Return the key or identity that signed a content; "" if it is not signed or the signer is unknown."""
        return str(check_signature(tree, self.trusted_keys) or "")

    def check_signer(self, signer: str, before: str, trust: str) -> tuple[str, str]:
        """Return why the signer is not accepted and the code of that reason; both are "" if the signer is accepted.

        `before` is the signer of the installed content.
        """
        if trust == "local" or any(matches_signer(signer, key) for key in self.trusted_keys):
            return "", ""
        if self.machine.trusted_keys is not None or self._config.settings.require_signature:
            told = (
                "is signed with a key that you do not trust" if signer else "is not signed with a key that Whet knows"
            )
            return f"It {told}.", "signature-needed"
        if before and not is_same_signer(signer, before):
            return f"The installed version was signed with {before}; this is not.", "signer-changed"
        return "", ""

    # age

    @cached_property
    def _looks(self) -> Looks:
        return Looks(self.workspace.state, self.workspace.clock())

    def min_age(self, ref: Ref, trust: str, *, exact: bool = False) -> int:
        """Return the minimum age in days for packages of a source; `exact`: this very revision was asked for."""
        if is_local(ref):
            return 0
        own = self._config.settings.min_age if self._min_age is None else self._min_age
        return max(self.machine.min_age, 0 if exact or trust != "community" else own)

    def open(self, ref: Ref, installed: Mapping[str, str] | None = None) -> Source:
        """Open a source that offers, if it can, only skills that are old enough; `installed`: revisions by path."""
        self.check_allowed(ref)
        days = self.min_age(ref, self.trust(ref))
        before = self._looks.now - days * DAY
        cooldown = Cooldown(before, self._looks, installed or {}) if days else None
        return open_source(ref, self.reach._replace(cooldown=cooldown, logs=self._logs if ref.kind == "hub" else None))

    @cached_property
    def _logs(self) -> HubLogs:
        return HubLogs(StateMemory(self.workspace.state), self.installed())

    def keep_looks(self) -> None:
        """Store what sources offered and what hubs reported about their logs."""
        self._looks.keep()
        self._logs.keep()

    def too_young(self, offer: Offer, trust: str, *, fixes: bool = True, chosen: bool = True) -> str:
        """Return why an offer from a source with this trust must wait, or "".

        A security fix need not wait if `fixes` is true, nor an exact revision if it was `chosen` by the user.
        """
        days = self.min_age(offer.ref, trust, exact=chosen and is_exact(offer))
        if not days or (offer.security and fixes):
            return ""
        now = self._looks.now
        if 0 < offer.published <= now - days * DAY:
            return ""
        required = f"the minimum is {days} day{'' if days == 1 else 's'}"
        required += " on this machine" if days == self.machine.min_age else ""
        if not offer.published:
            return f"The age of {name_offer(offer)} is not known; {required}."
        return f"{name_offer(offer)} is {describe_age(now - offer.published)} old; {required}."

    def held_back(self, offer: Offer) -> str:
        """Describe the newer version that must wait; "" if there is none."""
        if not offer.newer:
            return ""
        return f"{offer.newer.version} is {describe_age(self._looks.now - offer.newer.published)} old"

    # fetching

    def fetch(self, wanted: Iterable[Wanted]) -> tuple[list[Fetched], list[Note]]:
        """Fetch from several sources at a time and return packages and notes; the first failure ends all fetches."""
        got = together(self._fetched, tuple(wanted), end=self.reach.cancelled.set)
        self.keep_looks()
        return [package for packages, _ in got for package in packages], [note for _, notes in got for note in notes]

    def fetch_each(self, wanted: Sequence[Wanted]) -> list[Got | WhetError]:
        """Like `fetch`, but every request fails alone. Requests to one source are first sent together."""
        groups: dict[Ref, list[int]] = {}
        for at, one in enumerate(wanted):
            groups.setdefault(one.ref, []).append(at)
        got: dict[int, Got | WhetError] = {}
        for found in together(
            lambda places: self._fetch_group(wanted, places), [*groups.values()], end=self.reach.cancelled.set
        ):
            got |= found
        self.keep_looks()
        return [got[at] for at in range(len(wanted))]

    def _fetch_group(self, wanted: Sequence[Wanted], places: Sequence[int]) -> dict[int, Got | WhetError]:
        try:
            names = [name for at in places for name in wanted[at].names]
            packages, notes = self._fetched(wanted[places[0]]._replace(names=tuple(names)))
            if len(packages) == len(places):
                return {
                    at: Got([package], notes if at == places[0] else [])
                    for at, package in zip(places, packages, strict=True)
                }
        except WhetError as error:
            if error.code == "cancelled":
                raise
            if len(places) == 1:
                return {places[0]: error}
        return {at: one for place in places for at, one in self._fetch_group(wanted, [place]).items()}

    def _fetched(self, wanted: Wanted) -> tuple[list[Fetched], list[Note]]:
        source = self.open(wanted.ref)
        try:
            listing = source.inspect(wanted.names)
            chosen = check_range(wanted.ref, choose(listing, wanted.names, all=wanted.every))
            fetched = list(source.fetch(chosen))
        finally:
            source.close()
        told = [*wanted.notes, *(listing.notes if wanted.every else remarks(listing, chosen))]
        packages: list[Fetched] = []
        for at, package in enumerate(fetched, 1):
            try:
                packages.append(self.check_package(checked(package)))
            except InvalidError as error:
                only = at == len(fetched) and not packages
                if not wanted.every or error.code not in _NO_SKILLS or only:
                    raise
                told.append(refusal(error, package.offer.name, package.offer.ref.path))
        return packages, told


_NO_SKILLS = ("not-a-skill", "bad-name")
"""Codes of packages that are left out, with a note, when all skills of a source are wanted."""
_TAMPERED = "Do not install it: it is not what its author signed. Tell them."


def place_of_source(source: str) -> str:
    """Return `host/owner/repository` or the host of a source in the lock, for the scan; "" for this machine."""
    kind, _, location = source.partition("#")[0].partition(":")
    if kind == "git" and (place := source_of(location)):
        return place
    return host_of(location).name if location.lower().startswith("https://") else ""


def name_offer(offer: Offer) -> str:
    """Return the version of an offer, or the start of its revision."""
    return offer.version or offer.revision.removeprefix("sha256:")[:10] or offer.name


def remarks(listing: Listing, chosen: Iterable[Offer]) -> list[Note]:
    """Return the notes of a listing about the source itself and about the chosen skills."""
    names = {key(offer.name) for offer in chosen}
    return [note for note in listing.notes if not note.skill or key(note.skill) in names]


def check_range(ref: Ref, offers: tuple[Offer, ...]) -> tuple[Offer, ...]:
    """Return the offers if a source with only one version has the version asked for, else raise NotFoundError."""
    if ref.kind in _WITH_ONE_VERSION and ref.ref:
        for offer in offers:
            if not in_range(offer.version, ref.ref):
                found = f"has the version {offer.version}" if offer.version else "has no version"
                message = f"{offer.name} in {ref.location} {found}, which is not in the range {ref.ref}."
                raise NotFoundError("no-such-version", message, hint="Leave out the version to take what is there.")
    return offers


def checked(package: Fetched) -> Fetched:
    """Return the package if it is a skill with the promised digest and a valid signature, else raise InvalidError."""
    offer, tree = package.offer, package.tree
    if offer.digest and offer.digest != digest(tree):
        message = f"{offer.name} does not match its source: the content has a different digest."
        raise InvalidError("digest-mismatch", message, hint="Try again later. If it persists, tell the publisher.")
    try:
        document = main_of(tree).document
    except (InvalidError, UsageError) as error:
        raise InvalidError("not-a-skill", f"{offer.name}: {error.message}", hint="Use another source.") from error
    hint = "Use another source."
    if offer.ref.kind == "path":
        place = os.path.join(offer.ref.location, offer.ref.path).rstrip(os.sep)
        hint = f"`whet skill validate {place}` shows what is wrong."
    if document.step == "none":
        message = f"The SKILL.md of {offer.name} has no readable frontmatter."
        raise InvalidError("not-a-skill", message, hint=hint)
    if not any(map(str.isalnum, offer.name)):
        message = f"The name in SKILL.md is {offer.name!r}, which has no letter or digit."
        raise InvalidError("bad-name", message, hint=hint)
    try:
        check_signature(tree)
    except InvalidError as error:
        raise InvalidError("bad-signature", f"{offer.name}: {error.message}", hint=_TAMPERED) from None
    return package


_WITH_SEVERAL = ("git", "well-known", "path", "archive", "gallery", "url")
"""Kinds of sources whose listing has all their skills."""
_WITH_ONE_VERSION = ("path", "archive", "well-known", "gallery")
"""Kinds of sources that have only one version of each skill."""
_WITH_REVISIONS = ("git", "hub", "clawhub", "url", "oci")
"""Kinds of sources that can return an earlier revision, or at least confirm a given one."""


class Answer(NamedTuple):
    """The answer of a source about one installed skill."""

    entry: Installed
    offer: Offer | None = None
    package: Fetched | None = None
    """The content, if it was requested."""
    error: WhetError | None = None
    """The reason why there is no offer."""
    notes: tuple[Note, ...] = ()
    """Notes of the source about the skill, such as that its version was yanked."""


class _Asked(NamedTuple):
    """An installed skill and its source."""

    entry: Installed
    ref: Ref


def ask(
    installer: Installer,
    entries: Iterable[Installed],
    fetches: Callable[[Installed, Offer], bool],
    *,
    recorded: bool = False,
) -> list[Answer]:
    """Ask the sources of these skills what they have now; fetch contents if `fetches` returns true. Each fails alone.

    With `recorded`, ask for the recorded revision, if a source can return that.
    """
    groups: dict[Ref, list[_Asked]] = {}
    answers = []
    for entry in entries:
        try:
            ref = installer.ref_of(entry)
            installer.check_own(ref, entry)
        except WhetError as error:
            answers.append(Answer(entry, error=error))
            continue
        if recorded and entry.revision and ref.kind in _WITH_REVISIONS:
            ref = ref._replace(ref=entry.revision)
        place = ref._replace(path="") if ref.kind in _WITH_SEVERAL else ref
        groups.setdefault(place, []).append(_Asked(entry, ref))

    asked = itertools.count(1)

    def ask_group(group: tuple[Ref, list[_Asked]]) -> list[Answer]:
        place, members = group
        try:
            known = {} if recorded else {ref.path: entry.marker for entry, ref in members}
            return _ask_source(installer, place, members, fetches, known)
        except WhetError as error:
            if error.code == "cancelled":
                raise
            return [Answer(entry, error=error) for entry, _ in members]
        finally:
            installer.reach.progress(Progress("Ask", next(asked), len(groups), "sources"))

    for group in together(ask_group, tuple(groups.items()), end=installer.reach.cancelled.set):
        answers.extend(group)
    installer.keep_looks()
    return answers


def _ask_source(
    installer: Installer,
    place: Ref,
    members: Sequence[_Asked],
    fetches: Callable[[Installed, Offer], bool],
    known: Mapping[str, str],
) -> list[Answer]:
    names = [ref.path for _, ref in members]
    source = installer.open(place, {ref.path: entry.revision for entry, ref in members})
    if isinstance(source, GitSource):
        source.known = known
    try:
        # A skill at the root of its source has no path: list everything.
        listing = source.inspect(names if all(names) else ())
        answers = [_allowed(installer, _answer(listing, asked)) for asked in members]
        wanted = {each.offer for each in answers if each.offer and fetches(each.entry, each.offer)}
        contents = _contents(source, [offer for offer in listing.offers if offer in wanted])
    finally:
        source.close()
    return [_with_content(installer, each, contents, listing) for each in answers]


def _allowed(installer: Installer, answer: Answer) -> Answer:
    """Return the answer, unless the source refers to an address that the lock itself may not name."""
    try:
        if answer.offer:
            installer.check_own(answer.offer.ref, answer.entry)
            installer.check_allowed(answer.offer.ref)
    except WhetError as error:
        return Answer(answer.entry, error=error)
    return answer


def _answer(listing: Listing, asked: _Asked) -> Answer:
    """Return the offer at the path of this skill, else the offer with its name, wherever the source has it now."""
    entry, ref = asked
    if ref.kind not in _WITH_SEVERAL and len(listing.offers) == 1:
        return Answer(entry, listing.offers[0])
    same = [offer for offer in listing.offers if offer.ref.path == ref.path]
    try:
        offer, *_ = check_range(ref, tuple(same) or choose(listing, (entry.name,), all=False))
        return Answer(entry, offer)
    except NotFoundError as error:
        if error.code == "no-such-version":
            return Answer(entry, error=error)
        place = quote(shown(ref._replace(path="")))
        hint = f"`whet show {place}` shows what is there now; `whet skill pin {entry.name}` keeps your copy."
        gone = NotFoundError("gone-from-source", f"{shown(ref)} no longer has this skill.", hint=hint)
        return Answer(entry, error=gone)
    except WhetError as error:  # several of that name, or one that cannot be installed
        return Answer(entry, error=error)


def _contents(source: Source, offers: Sequence[Offer]) -> dict[Offer, Fetched | WhetError]:
    """Fetch the content of each offer, or the error that prevents it."""
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


def _with_content(
    installer: Installer, answer: Answer, contents: dict[Offer, Fetched | WhetError], listing: Listing
) -> Answer:
    if answer.offer is None:
        return answer
    own = tuple(note for note in remarks(listing, (answer.offer,)) if note.skill)
    if answer.offer not in contents:
        return answer._replace(notes=own)
    found = contents[answer.offer]
    if isinstance(found, WhetError):
        return Answer(answer.entry, error=found)
    try:
        installer.check_package(found)
    except RefusedError as error:
        return Answer(answer.entry, error=error)
    return answer._replace(package=found._replace(notes=(*found.notes, *own)), notes=own)


class OfferedSkill(NamedTuple):
    """A skill that a source has."""

    name: str
    description: str
    version: str
    path: str
    source: str
    """Source to pass to `install`, in canonical spelling."""
    revision: str
    group: str
    hidden: bool
    """Whether its author marked it as internal."""


class InspectedFile(NamedTuple):
    """A file of a skill that was fetched."""

    path: str
    size: int
    executable: bool
    link: bool


class InspectedSkill(NamedTuple):
    """A skill that was fetched and inspected."""

    offer: OfferedSkill
    digest: str
    files: tuple[InspectedFile, ...]
    judgement: Judgement
    """Findings of the guard and decision of the policy."""
    notes: tuple[Note, ...]
    instructions: str
    """The text of its `SKILL.md` below the frontmatter."""
    tree: Tree
    """Its files with their content; not in the JSON."""

    def read(self, path: str) -> str:
        """Return the text of one of its files. Raise NotFoundError `file-not-found`."""
        if item := self.tree.get(path):
            return item.data.decode("utf-8", "replace")
        near = list(closest(path, list(self.tree), 3))
        hint = f"Did you mean {', '.join(near)}?" if near else "`whet show` without `--file` lists the files."
        raise NotFoundError("file-not-found", f"{self.offer.name} has no file {path!r}.", hint=hint, suggestions=near)

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        return {
            **fields_json(self.offer),
            "digest": self.digest,
            "files": as_json(self.files),
            **self.judgement.decision.to_json(),
            "source": self.offer.source,  # not the source of the decision
            "findings": as_json(self.judgement.scan.findings),
            "notes": as_json(self.notes),
            "instructions": self.instructions,
        }


class Inspection(NamedTuple):
    """The skills that a source offers."""

    source: str
    shown: str
    revision: str
    trust: str
    skills: tuple[OfferedSkill, ...]
    inspected: tuple[InspectedSkill, ...]
    notes: tuple[Note, ...]
    checkout: str = ""
    """For a directory in a git repository: the commit that is checked out (`whet.sources.git.checkout`)."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        answer = answer_json(self)
        return answer if self.checkout else {key: value for key, value in answer.items() if key != "checkout"}


def inspect(installer: Installer, wanted: Wanted) -> Inspection:
    """List a source; fetch and scan the named skills, or the only one."""
    installer.check_allowed(wanted.ref)
    source = open_source(wanted.ref, installer.reach)
    try:
        listing = source.inspect(wanted.names)
        meant = [offer for offer in listing.offers if not offer.hidden]
        chosen = choose(listing, wanted.names, all=False) if wanted.names or len(meant) == 1 else ()
        check_range(wanted.ref, chosen)
        packages = tuple(map(checked, source.fetch(chosen))) if chosen else ()
    finally:
        source.close()
    return Inspection(
        ref_text(listing.ref),
        shown(listing.ref),
        listing.revision,
        installer.trust(listing.ref),
        tuple(map(_offered, listing.offers)),
        tuple(_inspect_skill(installer, package) for package in packages),
        (*wanted.notes, *listing.notes),
        next((offer.checkout for offer in listing.offers), ""),
    )


def _offered(offer: Offer) -> OfferedSkill:
    said = (offer.name, offer.description, offer.version, offer.ref.path)
    return OfferedSkill(*said, ref_text(offer.ref), offer.revision, offer.group, offer.hidden)


def _inspect_skill(installer: Installer, package: Fetched) -> InspectedSkill:
    files = tuple(
        InspectedFile(path, len(item.data), item.executable, item.link) for path, item in sorted(package.tree.items())
    )
    judgement = installer.judged_package(package)
    instructions = main_of(package.tree).document.body
    offer, tree = _offered(package.offer), package.tree
    return InspectedSkill(offer, digest(tree), files, judgement, package.notes, instructions, tree)
