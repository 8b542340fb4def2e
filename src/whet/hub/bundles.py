"""Bundles: versions of a hub in one file, for a hub without a network. Exported there, checked and imported here.

A bundle is a tar file with the answers that a mirror would get over HTTP, under the same paths, and the hashes of all
entries of the log. A hub imports it as it mirrors another one (`whet.hub.mirrors`): the same checks, the same scan, the
same entries in the log. Only the web client differs: `BundleWeb` reads the file and computes proofs from the hashes.
The key that signs the log is never taken from the bundle.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from contextlib import closing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import unquote

from whet.errors import ConflictError, InvalidError, NotFoundError, UsageError, WhetError
from whet.hub.log import TILE
from whet.hub.mirrors import Mirrors
from whet.hub.settings import Mirror
from whet.hub.upstream import HubUpstream, UpstreamMemory
from whet.sources.registries.hub import LogAct
from whet.sources.registries.registry import ANSWER_BYTES, Answer, parse_json
from whet.sources.transparency import HASH, Proof, Tree, hash_leaf, hash_node, read_checkpoint
from whet.sources.web.client import Web
from whet.sources.web.request import Response
from whet.store.failures import os_failures
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.hub.database import Transaction
    from whet.hub.registry import Hub

_HEAD = "bundle.json"
_CHECKPOINT = "log/checkpoint"
_CHANGES = "changes.json"
_FORMAT = 1
_MOST_MEMBERS = 2_000_000
_PROOF = re.compile(r"/api/v1/log/proof/(\d{1,18})")
_CONSISTENCY = re.compile(r"/api/v1/log/consistency/(\d{1,18})\?size=(\d{1,18})")
_VERSIONS = """SELECT o.name, s.name, v.version, v.sha256, v.document FROM versions v JOIN skills s ON v.skill = s.id
    JOIN owners o ON s.owner = o.id WHERE s.private = 0 AND v.quarantined IS NULL ORDER BY v.id"""


class Exported(NamedTuple):
    """A written bundle."""

    path: str
    skills: int
    versions: int
    entries: int
    """Number of entries in the log."""
    since: int
    """First entry of the bundle; 0 for all."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class Imported(NamedTuple):
    """The result of an import."""

    url: str
    """The hub of the bundle."""
    versions: int
    """Number of new versions."""
    known: int
    """Number of versions that already existed."""
    acts: int
    """Number of yanks and other acts that were repeated here."""
    refused: tuple[str, ...]
    """Rejected versions, and why."""
    checkpoint: str
    """Newest known checkpoint of the other hub's log."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


# writing


def export_bundle(hub: Hub, path: str, *, skills: tuple[str, ...] = (), since: str = "") -> Exported:
    """Write the public content of a hub to a file: all, these skills, or everything since a checkpoint.

    `since` is a file with a checkpoint of this hub, or an earlier bundle. Raises WhetError.
    """
    size = read_checkpoint(checkpoint := hub.log.checkpoint(), hub.log.public_key).size
    start = _read_since(hub, since) if since else 0
    rows = hub.database.read(lambda ask: ask.all(_VERSIONS))
    names = {f"{row[0]}/{row[1]}" for row in rows}
    if missing := [skill for skill in skills if skill not in names]:
        hint = "A bundle has only skills that everyone may see, and versions that are not in quarantine."
        raise NotFoundError("skill-not-found", f"There is no skill {missing[0]} to export.", hint=hint)
    documents = [(row, json.loads(row[4])["log"]["index"]) for row in rows]
    chosen = [
        row for row, index in documents if start <= index < size and (not skills or f"{row[0]}/{row[1]}" in skills)
    ]
    wanted: dict[str, list[str]] = {}
    for row in chosen:
        wanted.setdefault(f"{row[0]}/{row[1]}", []).append(row[2])
    log_key = {"origin": hub.log.origin, "key": str(hub.log.public_key)}
    head = {"bundle": _FORMAT, "url": hub.settings.url, "since": start, "whole": not skills, "skills": wanted}
    part = f"{path}.part"
    try:
        with os_failures(path), tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, _HEAD, json.dumps(head).encode())
            _add(archive, _CHECKPOINT, checkpoint.encode())
            for number in range(0, size, TILE):
                width = min(TILE, size - number)
                _add(archive, _tile_path(number // TILE, width), hub.log.tile(0, number // TILE, width))
            _add(archive, _CHANGES, json.dumps(_changes(hub, start, size, skills)).encode())
            _add(archive, "api/v1", json.dumps({"log": log_key}).encode())
            for sha256 in dict.fromkeys(row[3] for row in chosen):
                _add(archive, f"blobs/{sha256}", hub.blobs.get(sha256))
            for owner, name, version, _sha256, document in chosen:
                _add(archive, f"api/v1/skills/{owner}/{name}/versions/{version}", document.encode())
            archive.close()
            os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)
    return Exported(os.path.abspath(path), len(wanted), len(chosen), size, start)


def _read_since(hub: Hub, path: str) -> int:
    """Return the size of the log at a checkpoint, which must be one of this log."""
    try:
        if tarfile.is_tarfile(path):
            with closing(Bundle(path)) as bundle:
                note = bundle.read(_CHECKPOINT, ANSWER_BYTES).decode("utf-8", "replace")
        else:
            with open(path, encoding="utf-8") as file:
                note = file.read(ANSWER_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        hint = "Name a bundle that was written before, or a file with a checkpoint."
        raise InvalidError("bad-checkpoint", f"{path} cannot be read: {error}.", hint=hint) from error
    found = read_checkpoint(note, hub.log.public_key)
    hub.log.check_past(found)
    return found.size


def _changes(hub: Hub, start: int, size: int, skills: tuple[str, ...]) -> list[Json]:
    found: list[Json] = []
    while start < size:
        page = hub.log.changes(start, 1000)
        for change in page:
            ours = not skills or (change.hidden is None and f"{change.owner}/{change.name}" in skills)
            if ours and change.number < size:
                found.append({"index": change.number, **json.loads(change.entry)})
        start = page[-1].number + 1
    return found


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    archive.addfile(info, io.BytesIO(data))


def _tile_path(number: int, width: int) -> str:
    """Return the path of a tile of the log, as defined by C2SP."""
    digits = f"{number:03d}"
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    *front, last = (digits[at : at + 3] for at in range(0, len(digits), 3))
    return "/".join(("log/tile/0", *(f"x{part}" for part in front), last)) + (f".p/{width}" if width < TILE else "")


# reading


class Bundle:
    """The file of a bundle. Nothing is unpacked, and everything must be proved."""

    def __init__(self, path: str) -> None:
        try:
            self._archive = tarfile.open(path, "r:")  # noqa: SIM115  closed with the bundle
        except (OSError, tarfile.TarError, ValueError) as error:
            hint = "`whet hub export` writes bundles."
            raise InvalidError("bad-bundle", f"{path} cannot be read: {error}.", hint=hint) from error
        try:
            self._members = self._list()
        except BaseException:
            self._archive.close()
            raise

    def _list(self) -> dict[str, tarfile.TarInfo]:
        members: dict[str, tarfile.TarInfo] = {}
        try:
            for member in self._archive:
                if not member.isreg() or member.issparse() or member.name in members or len(members) > _MOST_MEMBERS:
                    _refuse("it has parts that do not belong in a bundle")
                members[member.name] = member
        except (OSError, tarfile.TarError, ValueError):
            _refuse("its parts cannot be listed")
        return members

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def read(self, name: str, limit: int) -> bytes:
        """Read a part of the bundle. Raise NotFoundError, or InvalidError if it is too large or cut off."""
        member = self._members.get(name)
        if member is None:
            raise NotFoundError("source-not-found", f"The bundle has no {name}.", hint="Export it again.")
        file = self._archive.extractfile(member) if member.size <= limit else None
        data = file.read() if file is not None else b""
        if len(data) != member.size:
            _refuse(f"{name} is too large or cut off")
        return data

    @cached_property
    def head(self) -> Answer:
        """Description of the bundle."""
        head = Answer(parse_json(self.read(_HEAD, ANSWER_BYTES), _HEAD), _HEAD)
        if head.number("bundle") != _FORMAT:
            _refuse("a later version of Whet wrote it")
        return head

    @property
    def places(self) -> Iterator[tuple[str, str, str]]:
        """Owner, name and version of everything in it."""
        for skill, versions in self.head.child("skills").fields():
            owner, slash, name = skill.partition("/")
            if not slash or not isinstance(versions, list) or not all(isinstance(each, str) for each in versions):
                _refuse("its list of skills cannot be read")
            yield from ((owner, name, version) for version in versions)

    @cached_property
    def acts(self) -> tuple[LogAct, ...]:
        """Entries of the log in it."""
        found = parse_json(self.read(_CHANGES, 1 << 30), _CHANGES)
        answers = [Answer(value, _CHANGES) for value in found] if isinstance(found, list) else []
        return tuple(LogAct(answer.number("index"), answer) for answer in answers)

    @cached_property
    def tree(self) -> Tree:
        """Tree over the hashes of all entries of the log."""
        lines = self.read(_CHECKPOINT, ANSWER_BYTES).decode("utf-8", "replace").split("\n")
        size = int(lines[1]) if len(lines) > 1 and re.fullmatch(r"\d{1,12}", lines[1]) else 0
        tiles = (_tile_path(at // TILE, min(TILE, size - at)) for at in range(0, size, TILE))
        leaves = b"".join(self.read(path, TILE * HASH) for path in tiles)
        if len(leaves) != size * HASH:
            _refuse("hashes of its log are missing")
        known: dict[tuple[int, int], bytes] = {}

        def node(level: int, number: int) -> bytes:
            if level == 0:
                return leaves[number * HASH : (number + 1) * HASH]
            if (level, number) not in known:
                known[level, number] = hash_node(node(level - 1, 2 * number), node(level - 1, 2 * number + 1))
            return known[level, number]

        return Tree(size, node)


class BundleWeb(Web):
    """A web client that reads from a bundle: one hub, and nothing else."""

    def __init__(self, bundle: Bundle, location: str) -> None:
        super().__init__(env={})
        self._bundle, self._location = bundle, location

    def get(self, url: str, *, limit: int, sha256: str = "", **_: Any) -> Response:
        """Return the response that the hub would send. Raises WhetError."""
        path = url.removeprefix(self._location)
        if path == url:
            raise NotFoundError("source-not-found", f"The bundle has no content from {url}.", hint="Export it again.")
        body = self._work_out(path)
        if body is None and path.endswith("/archive"):
            body = self._bundle.read(f"blobs/{sha256}", limit)
        elif body is None:
            body = self._bundle.read(unquote(path.removeprefix("/")), limit)
        if sha256 and hashlib.sha256(body).hexdigest() != sha256:
            message = f"The archive of {path} does not match its SHA-256."
            raise InvalidError("digest-mismatch", message, hint="Do not use the bundle. Export it again.")
        return Response(url, 200, {}, body)

    def _work_out(self, path: str) -> bytes | None:
        """Compute an answer from the hashes of the log; return None for stored answers."""
        tree = self._bundle.tree
        try:
            if match := _PROOF.fullmatch(path):
                number = int(match[1])
                note = self._bundle.read(_CHECKPOINT, ANSWER_BYTES).decode("utf-8", "replace")
                return str(Proof(number, tuple(tree.prove_inclusion(number)), note)).encode()
            if match := _CONSISTENCY.fullmatch(path):
                old, new = int(match[1]), int(match[2])
                return json.dumps({"path": [value.hex() for value in tree.at(new).prove_consistency(old)]}).encode()
        except ValueError:
            raise NotFoundError("entry-not-found", "The bundle has no such entry.", hint="Export it again.") from None
        return None


def import_bundle(hub: Hub, path: str, key: str = "") -> Imported:
    """Check a bundle and store its versions. Existing ones stay unchanged, so an import can be repeated.

    `key` is that of the other hub's log; it is optional if this hub knows it. Raises WhetError.
    """
    with closing(Bundle(path)) as bundle:
        url = bundle.head.text("url").rstrip("/")
        mirror = next((each for each in hub.settings.mirrors if each.location == url), Mirror(url))
        mirror = mirror._replace(key=key) if key else mirror
        known = UpstreamMemory(hub.database).load(url)
        if not mirror.key and known is None:
            hint = "Get it from the hub's operator, not from the bundle, and pass it with `--key KEY`."
            raise UsageError("key-needed", f"The key of the log of {url} is not known here.", hint=hint)
        if known is not None and known.checkpoint and (not mirror.key or str(known.key) == mirror.key):
            _check_age(hub, bundle, url, read_checkpoint(known.checkpoint, known.key).size)
        upstream = HubUpstream(mirror, BundleWeb(bundle, url), hub.database)
        _check_all(bundle, upstream)
        with closing(Mirrors(hub, (upstream,))) as mirrors:
            return _store(bundle, mirrors, upstream)


def _check_age(hub: Hub, bundle: Bundle, url: str, seen: int) -> None:
    """Raise ConflictError unless a bundle continues the known log."""
    if bundle.tree.size < seen:
        message = f"The bundle has {bundle.tree.size} entries of the log, and this hub has seen {seen}."
        raise ConflictError("bundle-older", message, hint="Export it again.")

    def ask(transaction: Transaction) -> int:
        return int(transaction.get("SELECT position FROM upstreams WHERE url = ?", url)[0])

    position = hub.database.read(ask)
    if 0 <= position < bundle.head.number("since"):
        message = f"The bundle begins at entry {bundle.head.number('since')}, and this hub has read {position}."
        raise ConflictError("bundle-gap", message, hint="Import the bundles in between first, or export since then.")


def _check_all(bundle: Bundle, upstream: HubUpstream) -> None:
    """Check the log, and the proof and bytes of every version, before anything is stored. Raises WhetError."""
    checkpoint = upstream.peek()
    if bundle.tree.root() != checkpoint.root:
        _refuse("the hashes of its log are not those that were signed")
    numbers = [act.number for act in bundle.acts]
    if bundle.head.flag("whole") and numbers != list(range(bundle.head.number("since"), bundle.tree.size)):
        _refuse("it leaves out entries of the log")
    for act in bundle.acts:
        if act.number >= bundle.tree.size or hash_leaf(act.line.encode()) != bundle.tree.leaf(act.number):
            _refuse(f"entry {act.number} is not the one of the log")
    for owner, name, version in bundle.places:
        upstream.fetch(owner, name, version, keep=False)


def _store(bundle: Bundle, mirrors: Mirrors, upstream: HubUpstream) -> Imported:
    upstream.measure()
    new = known = 0
    refused: list[str] = []
    for owner, name, version in bundle.places:
        try:
            brought = mirrors.bring(upstream, owner, name, version)
        except WhetError as error:
            refused.append(f"{owner}/{name} {version}: {error.message}")
        else:
            new, known = new + brought, known + (not brought)
    acts = mirrors.catch_up(upstream, bundle.acts, bundle.tree.size, whole=bundle.head.flag("whole"))
    note = bundle.read(_CHECKPOINT, ANSWER_BYTES).decode()
    return Imported(upstream.mirror.location, new, known, acts, tuple(refused), note)


def _refuse(why: str) -> NoReturn:
    hint = "Do not use it. Export it again, and carry it over in another way."
    raise InvalidError("bad-bundle", f"The bundle is damaged or was changed: {why}.", hint=hint)
