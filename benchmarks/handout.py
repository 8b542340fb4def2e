"""A git repository of many skills, and a server on this machine that counts what its clients take.

The server hands every request to `git http-backend`, as a web server does, and counts requests, requests for objects
and bytes both ways, heads included.
"""

from __future__ import annotations

import gzip
import http.server
import io
import os
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import handbook

if TYPE_CHECKING:
    from collections.abc import Iterator

BRANCH = "refs/heads/main"
_WHEN = 1_700_000_000
_IDENTITY = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Example"), ("EMAIL", "example@example.invalid"))
}


def clean_env() -> dict[str, str]:
    """An environment in which git reads no settings of this machine."""
    settings = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    return {"PATH": os.environ["PATH"], **settings, **_IDENTITY}


class Handout(NamedTuple):
    """A bare repository with two commits; the second changes one skill."""

    path: str
    names: tuple[str, ...]
    changed: str
    """The skill that the second commit changes."""
    first: str
    second: str
    files: int
    size: int
    """Bytes of all files."""

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    @property
    def directory(self) -> str:
        """The skills of the first commit, in a plain directory."""
        return f"{self.path}.tree"

    def show(self, commit: str) -> None:
        """Let the branch point at a commit."""
        _git(self.path, "update-ref", BRANCH, commit)


def make_handout(path: str, count: int) -> Handout:
    """Write the repository. The same count gives the same commits."""
    skills = handbook.skills(count)
    changed = next(iter(reversed(skills)))
    os.makedirs(path)
    _git(path, "init", "-q", "--bare", ".")
    _git(path, "symbolic-ref", "HEAD", BRANCH)
    _git(path, "config", "uploadpack.allowFilter", "true")
    first = _commit(path, skills, 0)
    text = skills[changed]["SKILL.md"] + b"\n## Since the last version\n\nThe totals are written in bold.\n"
    second = _commit(path, {**skills, changed: {**skills[changed], "SKILL.md": text}}, 1)
    _git(path, "repack", "-adq")
    for name, files in skills.items():
        for place, data in files.items():
            file = os.path.join(f"{path}.tree", "skills", name, place)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "wb") as target:
                target.write(data)
    sizes = [len(data) for files in skills.values() for data in files.values()]
    return Handout(path, tuple(skills), changed, first, second, len(sizes), sum(sizes))


def _git(path: str, *arguments: str, feed: bytes = b"") -> str:
    done = subprocess.run(["git", *arguments], cwd=path, input=feed, capture_output=True, env=clean_env(), check=True)
    return done.stdout.decode().strip()


def _commit(path: str, skills: dict[str, dict[str, bytes]], number: int) -> str:
    """A commit of exactly these skills, after the one before."""
    lines = [b"feature done\ncommit %s\n" % BRANCH.encode()]
    lines.append(b"committer Example <example@example.invalid> %d +0000\ndata 4\ntext\n" % (_WHEN + number))
    lines.append(b"from %s^0\n" % BRANCH.encode() if number else b"")
    lines.append(b"deleteall\n")
    for name, files in skills.items():
        for place, data in files.items():
            lines.append(b"M 100644 inline skills/%s/%s\n" % (name.encode(), place.encode()))
            lines.append(b"data %d\n%s\n" % (len(data), data))
    _git(path, "fast-import", "--quiet", feed=b"".join([*lines, b"\ndone\n"]))
    return _git(path, "rev-parse", BRANCH)


# --- serving --------------------------------------------------------------------------------------------------------


class Traffic(NamedTuple):
    """What went over the wire."""

    requests: int
    fetches: int
    """Requests for objects."""
    down: int
    up: int


class Server(http.server.ThreadingHTTPServer):
    """Hands out the repositories in a directory."""

    daemon_threads = True

    def __init__(self, root: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._lock = threading.Lock()
        self._seen = Traffic(0, 0, 0, 0)

    def count(self, *, fetch: bool, down: int, up: int) -> None:
        """Note one request."""
        with self._lock:
            seen = self._seen
            self._seen = Traffic(seen.requests + 1, seen.fetches + fetch, seen.down + down, seen.up + up)

    def taken(self) -> Traffic:
        """What went over the wire since this was asked last."""
        with self._lock:
            seen, self._seen = self._seen, Traffic(0, 0, 0, 0)
        return seen


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(body)

    def _answer(self, sent: bytes) -> None:
        body = gzip.decompress(sent) if self.headers.get("Content-Encoding") == "gzip" else sent
        path, _, query = self.path.partition("?")
        env = {
            **clean_env(),
            "GIT_PROJECT_ROOT": self.server.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        wire, self.wfile = self.wfile, io.BytesIO()
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        whole, self.wfile = self.wfile.getvalue() + answer, wire
        asked = len(self.requestline) + 2 + len(self.headers.as_bytes()) + len(sent)
        self.server.count(fetch=b"command=fetch" in body or b"want " in body, down=len(whole), up=asked)
        self.wfile.write(whole)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name it has in the base class
        """Say nothing."""


@contextmanager
def serving(root: str) -> Iterator[Server]:
    """A server of the repositories in a directory."""
    with Server(root) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
