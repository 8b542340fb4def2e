"""A hub in memory, by the letter of `docs/hub-api.md`, on a port of this machine.

    hub = Hub(tokens={"secret": {"acme"}})
    with hub_serving(hub) as server:
        send_version(server.web(), server.url, "secret", "acme", "review", "1.0.0", archive, digest)

`hub.publish` puts a version in without HTTP. `hub.requests` keeps what came. `hub.twist` may change any answer before
it is sent, to play a hub that lies.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import io
import json
import re
import threading
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from whet.errors import WhetError
from whet.skill.archive import unpack
from whet.skill.dialects import read_skill
from whet.skill.names import is_ascii_name
from whet.skill.tree import DEFAULT_LIMITS, Item, Package
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAGE = 100
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
ARCHIVE_BYTES = DEFAULT_LIMITS.total_bytes

_OWNER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NUMBER = r"(?:0|[1-9][0-9]*)"
_WORD = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORD}(?:\.{_WORD})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Kept(NamedTuple):
    """One version."""

    owner: str
    name: str
    version: str
    description: str
    digest: str
    archive: bytes
    files: tuple[dict[str, Any], ...]
    published: str
    flat: bytes
    """The same files without a folder, for other clients."""


class RefusalError(Exception):
    """Why a request is not done."""

    def __init__(self, status: int, code: str, error: str, hint: str = "", **headers: str) -> None:
        super().__init__(error)
        body = {"error": error, "code": code, "hint": hint}
        self.answer = _json(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


class Hub:
    """Everything a hub knows."""

    def __init__(
        self, *, tokens: Mapping[str, set[str]] | None = None, private: bool = False, title: str = "A hub"
    ) -> None:
        self.tokens = {token: set(owners) for token, owners in (tokens or {}).items()}
        self.private = private
        self.title = title
        self.versions: dict[tuple[str, str, str], Kept] = {}
        self.yanked: dict[tuple[str, str, str], str] = {}
        self.security: dict[tuple[str, str, str], str] = {}
        """What versions fix."""
        self._numbers: dict[tuple[str, str], list[str]] = {}
        self.requests: list[Asked] = []
        self.twist: Callable[[Asked, Answer], Answer] = lambda _, answer: answer
        self._lock = threading.Lock()
        self._clock = 0

    def publish(self, owner: str, name: str, version: str, archive: bytes) -> Kept:
        """Put a version in. Raises RefusalError."""
        try:
            package = unpack(archive)
        except WhetError as error:
            raise RefusalError(400, "bad-archive", error.message, error.hint) from error
        skill = read_skill(package.document)
        if skill.name != name:
            message = f"The skill is called {skill.name} and not {name}."
            raise RefusalError(422, "name-mismatch", message, "Rename one of them.")
        self._clock += 1
        kept = Kept(
            owner,
            name,
            version,
            skill.description,
            package.digest,
            archive,
            tuple(_file(path, item) for path, item in package.tree.items()),
            f"2026-01-01T00:{self._clock // 60:02}:{self._clock % 60:02}Z",
            _flat(package),
        )
        self.versions[owner, name, version] = kept
        self._numbers.setdefault((owner, name), []).append(version)
        return kept

    def yank(self, owner: str, name: str, version: str, reason: str) -> None:
        """Yank a version."""
        self.yanked[owner, name, version] = reason

    def answer(self, asked: Asked) -> Answer:
        """What a request is answered."""
        with self._lock:
            self.requests.append(asked)
            try:
                given = self._answer(asked)
            except RefusalError as refusal:
                given = refusal.answer
            return self.twist(asked, given)

    def _answer(self, asked: Asked) -> Answer:
        if asked.path == "/api/v1":
            return self._about(asked)
        if self.private:
            self._holder(asked)
        parts = [unquote(part) for part in asked.path.strip("/").split("/")]
        match parts:
            case [".well-known", "agent-skills", "index.json"]:
                return self._index(asked, "")
            case [owner, ".well-known", "agent-skills", "index.json"]:
                return self._index(asked, owner)
            case [".well-known", "agent-skills", owner, name, file] if file.endswith(".zip"):
                return self._sent(asked, self._kept(owner, name, file.removesuffix(".zip")).flat)
            case ["api", "v1", "skills"]:
                return self._list(asked)
            case ["api", "v1", "search"]:
                return self._search(asked)
            case ["api", "v1", "digests", wanted]:
                return self._resolve(asked, wanted)
            case ["api", "v1", "skills", owner, name]:
                return self._skill(asked, owner, name)
            case ["api", "v1", "skills", owner, name, "versions"]:
                return self._versions(asked, owner, name)
            case ["api", "v1", "skills", owner, name, "versions", version]:
                return self._version(asked, owner, name, version)
            case ["api", "v1", "skills", owner, name, "versions", version, "archive"]:
                return self._sent(asked, self._kept(owner, name, version).archive)
            case ["api", "v1", "skills", owner, name, "versions", version, "yank"]:
                return self._yank(asked, owner, name, version)
        raise RefusalError(404, "not-found", f"{asked.path} does not exist.")

    # reading

    def _about(self, asked: Asked) -> Answer:
        _only(asked, "GET", "HEAD")
        limits = DEFAULT_LIMITS
        sizes = {"archive_bytes": ARCHIVE_BYTES, "file_bytes": limits.file_bytes, "files": limits.files, "page": PAGE}
        return _json({"hub": "whet", "api": 1, "title": self.title, "private": self.private, "limits": sizes})

    def _list(self, asked: Asked) -> Answer:
        _only(asked, "GET", "HEAD")
        names = sorted({(owner, name) for owner, name, _ in self.versions})
        wanted = asked.query.get("name")
        return self._page(asked, "skills", [self._summary(*each) for each in names if wanted in (None, each[1])])

    def _search(self, asked: Asked) -> Answer:
        _only(asked, "GET", "HEAD")
        words = asked.query.get("q", "").lower().split()
        if not words or len(asked.query["q"]) > 200:
            raise RefusalError(400, "bad-request", "q must have 1 to 200 characters.", "Give some words.")
        found = []
        for owner, name in sorted({(owner, name) for owner, name, _ in self.versions}):
            summary = self._summary(owner, name)
            text = f"{owner} {name} {summary['description']}".lower()
            hits = sum(word in text for word in words)
            if hits and summary["latest"]:
                found.append((-(name == " ".join(words)), -hits, owner, name, summary))
        return self._page(asked, "skills", [each[-1] for each in sorted(found, key=lambda each: each[:4])])

    def _skill(self, asked: Asked, owner: str, name: str) -> Answer:
        _only(asked, "GET", "HEAD")
        return _json({**self._summary(owner, name), "versions": len(self._of(owner, name))})

    def _versions(self, asked: Asked, owner: str, name: str) -> Answer:
        _only(asked, "GET", "HEAD")
        listed = [
            {
                "version": kept.version,
                "digest": kept.digest,
                "published": kept.published,
                "yanked": self._reason(kept),
                "security": self._fixes(kept),
            }
            for kept in reversed(self._of(owner, name))
        ]
        return self._page(asked, "versions", listed)

    def _resolve(self, asked: Asked, wanted: str) -> Answer:
        _only(asked, "GET", "HEAD")
        found = [
            {"owner": kept.owner, "name": kept.name, "version": kept.version, "yanked": self._reason(kept)}
            for kept in self.versions.values()
            if kept.digest == wanted
        ]
        if not found:
            raise RefusalError(404, "digest-not-found", f"Nothing here has the digest {wanted}.")
        return _json({"digest": wanted, "versions": found})

    def _sent(self, asked: Asked, data: bytes) -> Answer:
        _only(asked, "GET", "HEAD")
        tag = f'"sha256:{hashlib.sha256(data).hexdigest()}"'
        who = "private" if self.private else "public"
        headers = {
            "Content-Type": "application/zip",
            "ETag": tag,
            "Cache-Control": f"{who}, max-age=31536000, immutable",
        }
        return Answer(304, headers, b"") if asked.headers.get("if-none-match") == tag else Answer(200, headers, data)

    def _index(self, asked: Asked, owner: str) -> Answer:
        _only(asked, "GET", "HEAD")
        skills: dict[str, dict[str, str]] = {}
        for kept in sorted(self.versions.values(), key=lambda each: each.published):
            latest = self._latest(kept.owner, kept.name)
            if latest and owner in ("", kept.owner):
                hashed = hashlib.sha256(latest.flat).hexdigest()
                url = f"/.well-known/agent-skills/{latest.owner}/{latest.name}/{latest.version}.zip"
                entry = {"name": latest.name, "type": "archive", "description": latest.description}
                skills.setdefault(latest.name, {**entry, "url": url, "digest": f"sha256:{hashed}"})
        return _json({"$schema": SCHEMA, "skills": list(skills.values())})

    # writing

    def _version(self, asked: Asked, owner: str, name: str, version: str) -> Answer:
        if asked.method in ("GET", "HEAD"):
            return _json(self._described(self._kept(owner, name, version)))
        _only(asked, "GET", "HEAD", "PUT", "POST")
        self._writer(asked, owner)
        promised = asked.headers.get("whet-digest", "")
        if not (_OWNER.fullmatch(owner) and len(owner) <= 39 and is_ascii_name(name)):
            raise RefusalError(400, "bad-request", f"{owner}/{name} is no name of a skill.")
        if not (_VERSION.fullmatch(version) and len(version) <= 64):
            raise RefusalError(400, "bad-request", f"{version} is no semantic version.", "Write it like 1.0.0.")
        if not _DIGEST.fullmatch(promised):
            raise RefusalError(400, "bad-request", "Whet-Digest is missing or is no digest.")
        before = self.versions.get((owner, name, version))
        if before and (before.digest != promised or (owner, name, version) in self.yanked):
            message = f"{owner}/{name} {version} is there already with other content."
            raise RefusalError(409, "version-exists", message, "Choose a higher version.")
        if before:
            return _json(self._described(before))
        kept = self.publish(owner, name, version, asked.body)
        if kept.digest != promised:
            del self.versions[owner, name, version]
            raise RefusalError(422, "digest-mismatch", f"The content has the digest {kept.digest}.", "Pack it again.")
        return _json(self._described(kept), 201, {"Location": asked.path})

    def _yank(self, asked: Asked, owner: str, name: str, version: str) -> Answer:
        _only(asked, "PUT", "DELETE")
        self._writer(asked, owner)
        kept = self._kept(owner, name, version)
        if asked.method == "DELETE":
            self.yanked.pop((owner, name, version), None)
        else:
            try:
                reason = json.loads(asked.body)["reason"]
                assert isinstance(reason, str)
                assert 0 < len(reason) <= 500
            except (ValueError, LookupError, TypeError, AssertionError):
                raise RefusalError(400, "bad-request", "The reason must be a text of 1 to 500 characters.") from None
            self.yank(owner, name, version, reason)
        return _json(self._described(kept))

    def _holder(self, asked: Asked) -> set[str]:
        kind, _, token = asked.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or token not in self.tokens:
            hint = "Send a token of this hub."
            raise RefusalError(401, "token-needed", "A token is needed here.", hint, WWW_Authenticate="Bearer")
        return self.tokens[token]

    def _writer(self, asked: Asked, owner: str) -> None:
        if owner not in self._holder(asked):
            raise RefusalError(403, "not-allowed", f"This token is not for {owner}.")
        if "content-length" not in asked.headers and asked.method != "DELETE":
            raise RefusalError(411, "length-needed", "The length of the body must be told.")
        if len(asked.body) > ARCHIVE_BYTES:
            raise RefusalError(413, "too-large", f"An archive has at most {ARCHIVE_BYTES} bytes.")

    # knowing

    def _of(self, owner: str, name: str) -> list[Kept]:
        """The versions of a skill, lowest first."""
        numbers = dict.fromkeys(self._numbers.get((owner, name), ()))
        found = [kept for number in numbers if (kept := self.versions.get((owner, name, number)))]
        if not found:
            hint = f"Search for it: /api/v1/search?q={name}"
            raise RefusalError(404, "skill-not-found", f"There is no skill {owner}/{name}.", hint)
        return sorted(found, key=lambda kept: precedence(kept.version))

    def _kept(self, owner: str, name: str, version: str) -> Kept:
        self._of(owner, name)
        if (owner, name, version) not in self.versions:
            raise RefusalError(404, "version-not-found", f"{owner}/{name} has no version {version}.")
        return self.versions[owner, name, version]

    def _latest(self, owner: str, name: str) -> Kept | None:
        good = [kept for kept in self._of(owner, name) if (owner, name, kept.version) not in self.yanked]
        released = [kept for kept in good if "-" not in kept.version.partition("+")[0]]
        return next(reversed(released or good), None)

    def _reason(self, kept: Kept) -> dict[str, str] | None:
        reason = self.yanked.get((kept.owner, kept.name, kept.version))
        return None if reason is None else {"reason": reason}

    def _summary(self, owner: str, name: str) -> dict[str, Any]:
        latest = self._latest(owner, name)
        return {
            "owner": owner,
            "name": name,
            "description": latest.description if latest else "",
            "latest": latest.version if latest else None,
            "digest": latest.digest if latest else None,
            "updated": max(kept.published for kept in self._of(owner, name)),
        }

    def _described(self, kept: Kept) -> dict[str, Any]:
        url = f"/api/v1/skills/{kept.owner}/{kept.name}/versions/{kept.version}/archive"
        hashed = hashlib.sha256(kept.archive).hexdigest()
        return {
            "owner": kept.owner,
            "name": kept.name,
            "version": kept.version,
            "description": kept.description,
            "digest": kept.digest,
            "archive": {"url": url, "sha256": hashed, "size": len(kept.archive)},
            "files": list(kept.files),
            "published": kept.published,
            "yanked": self._reason(kept),
            "security": self._fixes(kept),
            "signatures": [],
        }

    def _fixes(self, kept: Kept) -> dict[str, str] | None:
        found = self.security.get((kept.owner, kept.name, kept.version))
        return {"fixes": found} if found else None

    def _page(self, asked: Asked, field: str, items: list[Any]) -> Answer:
        limit, start = asked.query.get("limit", "20"), asked.query.get("cursor", "0")
        if not (limit.isdigit() and 1 <= int(limit) <= PAGE and start.isdigit()):
            raise RefusalError(400, "bad-request", f"limit must be 1 to {PAGE}, cursor one that was given.")
        end = int(start) + int(limit)
        return _json({field: items[int(start) : end], "next": str(end) if end < len(items) else None})


class Server(NamedTuple):
    """A hub that is being served."""

    url: str
    host: str
    """As `private_hosts` names it."""

    def web(self, **more: Any) -> Web:
        """A Web that may visit it."""
        arguments = {"env": {}, "timeout": 10.0, "total": 30.0, "pause": lambda _: None, **more}
        return Web(**{**arguments, "private_hosts": (self.host, *more.get("private_hosts", ()))})


@contextlib.contextmanager
def hub_serving(hub: Hub) -> Iterator[Server]:
    """Serve a hub until the block ends."""

    class Handler(_Handler):
        served = hub

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        host = f"127.0.0.1:{listener.server_address[1]}"
        try:
            yield Server(f"http://{host}", host)
        finally:
            listener.shutdown()
            thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    served: Hub

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _do(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        given = self.served.answer(Asked(self.command, parts.path, query, headers, body))
        self.send_response(given.status)
        for name, value in {"Content-Length": str(len(given.body)), **given.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(given.body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _do  # noqa: N815  the names that http.server calls


def precedence(version: str) -> tuple[Any, ...]:
    """What orders semantic versions, those that differ only in build metadata by their text."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (-1, -1, -1, 0, (), version)
    words = [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in (found[4] or "").split(".") if word]
    return (int(found[1]), int(found[2]), int(found[3]), not found[4], tuple(words), version)


def _only(asked: Asked, *methods: str) -> None:
    if asked.method not in methods:
        raise RefusalError(405, "bad-method", f"{asked.method} is not for {asked.path}.", Allow=", ".join(methods))


def _json(value: Any, status: int = 200, headers: Mapping[str, str] = {}) -> Answer:
    told = {"Content-Type": "application/json", "Cache-Control": "no-cache", **headers}
    return Answer(status, told, json.dumps(value, ensure_ascii=False).encode())


def _file(path: str, item: Item) -> dict[str, Any]:
    hashed = hashlib.sha256(item.data).hexdigest()
    return {"path": path, "size": len(item.data), "sha256": hashed, "executable": item.executable}


def _flat(package: Package) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, item in package.tree.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = (0o100755 if item.executable else 0o100644) << 16
            archive.writestr(entry, item.data)
    return target.getvalue()
