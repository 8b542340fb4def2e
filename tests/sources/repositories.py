"""Real git repositories, built from values, and served over smart HTTP on this machine.

repository = Repository.new(tmp_path / "repository")
commit = repository.commit({"skills/pdf/SKILL.md": skill("pdf")})
with serving_git(tmp_path) as server:
    source = GitSource(Ref("git", f"{server.url}/repository"), world.reach)
    assert server.fetches == 1
"""

from __future__ import annotations

import base64
import gzip
import http.server
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from whet.library.roots import Place
from whet.sources.git.source import GitSource
from whet.sources.model import FetchContext, Ref
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from whet.notes import Progress

_CLEAN = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "An Author",
    "GIT_AUTHOR_EMAIL": "author@example.invalid",
    "GIT_COMMITTER_NAME": "An Author",
    "GIT_COMMITTER_EMAIL": "author@example.invalid",
    "LC_ALL": "C",
}
_WANT = re.compile(rb"want ([0-9a-f]{40,64})")


class Linked(NamedTuple):
    """A symbolic link in a commit."""

    target: str


class Module(NamedTuple):
    """A submodule in a commit."""

    commit: str = "1" * 40


class Script(NamedTuple):
    """An executable file in a commit."""

    data: bytes


Content = str | bytes | Linked | Module | Script


def skill(name: str, description: str = "Does one thing.", body: str = "Do it.") -> str:
    """The text of a main file."""
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


class Repository:
    """A bare repository on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = path.as_uri()

    @classmethod
    def new(cls, path: Path, *, filters: bool = True, object_format: str = "sha1") -> Repository:
        """An empty one, whose default branch will be `main`."""
        made = cls(path)
        form = [f"--object-format={object_format}"] if object_format != "sha1" else []
        made.git("init", "-q", "--bare", *form, str(path), cwd=path.parent)
        made.git("symbolic-ref", "HEAD", "refs/heads/main")
        made.git("config", "uploadpack.allowFilter", "true" if filters else "false")
        return made

    def git(self, *arguments: str, feed: bytes = b"", cwd: Path | None = None) -> str:
        """Run a command in it."""
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.path, input=feed, capture_output=True, env=_CLEAN, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(self, files: Mapping[str, Content], *, branch: str = "main", orphan: bool = False, time: int = 0) -> str:
        """A new commit on a branch with exactly these files; `orphan` without a parent, as after a forced push.

        `time` is what it claims, in seconds; without one, something long ago.
        """
        blobs = [content for content in files.values() if not isinstance(content, Module)]
        lines = [b"feature done\n"]
        for mark, content in enumerate(blobs, 1):
            data = _data(content)
            lines.append(b"blob\nmark :%d\ndata %d\n%s\n" % (mark, len(data), data))
        name = f"refs/heads/{branch}"
        lines.append(
            b"commit %s\ncommitter An Author <author@example.invalid> %d +0000\n" % (name.encode(), time or _tick())
        )
        lines.append(b"data 4\ntext\n")
        if not orphan and self.has(name):
            lines.append(b"from %s^0\n" % name.encode())
        lines.append(b"deleteall\n")
        marks = iter(range(1, len(blobs) + 1))
        for path, entry in files.items():
            what = entry.commit if isinstance(entry, Module) else f":{next(marks)}"
            lines.append(f"M {_mode(entry)} {what} {path}\n".encode())
        self.git("fast-import", "--quiet", "--force", feed=b"".join([*lines, b"\ndone\n"]))
        return self.git("rev-parse", name)

    def has(self, name: str) -> bool:
        """Whether there is such a branch or tag."""
        found = subprocess.run(
            ["git", "rev-parse", "-q", "--verify", name], cwd=self.path, env=_CLEAN, capture_output=True
        )
        return found.returncode == 0

    def blob(self, data: bytes) -> str:
        """Store a blob; its id."""
        return self.git("hash-object", "-w", "--stdin", feed=data)

    def tree(self, *entries: tuple[str, str, bytes]) -> str:
        """Store a tree of (mode, id, name) as it is, however wrong; its id."""
        data = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, oid, name in entries)
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", feed=data)

    def commit_tree(self, tree: str, branch: str = "main") -> str:
        """A commit without a parent that holds this tree, on a branch."""
        lines = f"tree {tree}\nauthor A <a@example.invalid> 1 +0000\ncommitter A <a@example.invalid> 1 +0000\n\ntext\n"
        commit = self.git("hash-object", "-w", "-t", "commit", "--literally", "--stdin", feed=lines.encode())
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit


_LAST = [1_700_000_000]


def _tick() -> int:
    """A second later each time, so that no two commits are the same."""
    _LAST[0] += 1
    return _LAST[0]


def _data(content: str | bytes | Linked | Script) -> bytes:
    if isinstance(content, Linked):
        return content.target.encode()
    if isinstance(content, Script):
        return content.data
    return content.encode() if isinstance(content, str) else content


def _mode(content: Content) -> str:
    modes = {Linked: "120000", Module: "160000", Script: "100755"}
    return modes.get(type(content), "100644")


def _basic(password: str) -> str:
    return f"Basic {base64.b64encode(f'user:{password}'.encode()).decode()}"


class Served(http.server.ThreadingHTTPServer):
    """Hands requests to `git http-backend`, and counts them."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        """Those of requests to upload-pack, unpacked."""
        self.sent = 0
        self.moved: dict[str, str] = {}
        """First part of a path -> where it is now: another first part, or a whole address."""
        self.behaviour: dict[str, str] = {}
        """First part of a path -> `hang`, `drip`, `cut`, or a status."""
        self.password = ""
        """What is asked for, if anything, from a user called `user`."""
        self.old = False
        """Speak the first version of the protocol only."""
        self.ended = threading.Event()

    @property
    def fetches(self) -> int:
        """How often objects were asked for."""
        return sum(b"command=fetch" in body or b"want " in body for body in self.bodies)

    def wants(self) -> list[str]:
        """The ids that were asked for, in the order of asking."""
        return [found.decode() for body in self.bodies for found in _WANT.findall(body)]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who goes away in the middle is part of the tests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Served

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._serve(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)

    def _serve(self, body: bytes) -> None:
        server = self.server
        server.requests.append(f"{self.command} {self.path}")
        if body:
            server.bodies.append(body)
        top = self.path.split("/")[1]
        if top in server.moved:
            target = server.moved[top]
            rest = self.path[len(top) + 1 :]
            self.send_response(301)
            self.send_header("Location", target + rest if "://" in target else f"/{target}{rest}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if server.password and self.headers.get("Authorization") != _basic(server.password):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="skills"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        how = server.behaviour.get(top, "")
        if how == "hang":
            server.ended.wait(60)
            return
        if how.isdigit():
            self.send_error(int(how))
            return
        self._run(body, how)

    def _run(self, body: bytes, how: str) -> None:
        path, _, query = self.path.partition("?")
        env = {
            **_CLEAN,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": "" if self.server.old else self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, timeout=60)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        self.send_response(status)
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.server.sent += len(answer)
        packed = b"command=fetch" in body
        if how == "drip" and packed:
            for index in range(len(answer)):
                if self.server.ended.wait(0.2):
                    return
                self.wfile.write(answer[index : index + 1])
        elif how == "cut" and packed:
            self.wfile.write(answer[: len(answer) // 2])
        else:
            self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name it has in the base class
        """Say nothing."""


@contextmanager
def serving_git(root: Path) -> Iterator[Served]:
    """A server of the repositories in a directory."""
    with Served(root) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


class World:
    """A home and a state directory, and what sources may use of the world."""

    def __init__(
        self,
        top: Path,
        *,
        timeout: float = 20.0,
        total: float = 60.0,
        private: tuple[str, ...] = ("127.0.0.1",),
        resolve: Callable[[str, int], Sequence[str]] | None = None,
    ) -> None:
        self.home, self.state = top / "home", top / "state"
        for directory in (self.home, self.state):
            directory.mkdir(exist_ok=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        place = Place(str(top), str(self.home), str(self.state), sys.platform, self.env)
        self.web = Web(env=self.env, private_hosts=private, timeout=timeout, total=total, resolve=resolve)
        self.seen: list[Progress] = []
        self._sources: list[GitSource] = []
        self.reach = FetchContext(place, self.web, threading.Event(), self.seen.append)

    def source(self, location: str, ref: str = "", path: str = "") -> GitSource:
        """The source of a repository; closed at the end at the latest."""
        self._sources.append(GitSource(Ref("git", location, ref, path), self.reach))
        return self._sources[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for source in self._sources:
            source.close()
        self.web.close()

    def left(self) -> list[str]:
        """What lies in the place for fetching."""
        try:
            return sorted(os.listdir(self.state / "fetching"))
        except FileNotFoundError:
            return []


def running(words: str) -> list[str]:
    """The command lines of processes that have these words in them."""
    listed = subprocess.run(["ps", "-axo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if words in line and not line.startswith("ps ")]


def wait_until(happened: Any, seconds: float = 20.0) -> None:
    """Wait for something that another thread or process does."""
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)
