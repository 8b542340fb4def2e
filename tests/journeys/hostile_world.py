"""A machine with one installed skill, a digest of everything on it that a failed install must leave alone, and servers
of every kind that a skill can be fetched from over HTTP."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from places import Places
from sources.hub_server import Asked, Hub
from sources.loopback import Route, redirect, serving
from sources.reaching import dumped, main, packed, sha256

from whet.interfaces.cli import main as whet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sources.loopback import Request, Server

CACHES = ("cache.db", "cache", "locks", "config.toml", "fetching")
"""What of the state directory may change, or be made, whatever a command comes to."""
NEW, OLD = "/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


class Run(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one JSON document."""
        told: dict[str, Any] = json.loads(self.out)
        return told

    @property
    def codes(self) -> dict[str, str]:
        """Name -> why it was not done, of the skills of a plan."""
        return {step["name"]: step["code"] for step in self.answer["plan"] if step["code"]}


class Machine(Places):
    """A home, a state directory and a working directory; commands run in this process, as `whet` runs them."""

    def __init__(self, top: Path) -> None:
        super().__init__(top)
        for directory in (self.home, self.state, self.work):
            directory.mkdir(parents=True, exist_ok=True)

    def allow(self, *hosts: str) -> None:
        """Name the hosts that may be visited although they are on this machine, and give up after a second."""
        text = f"private_hosts = {json.dumps(hosts)}\nnetwork_timeout = 1\nmin_age = 0\n"
        (self.state / "config.toml").write_text(text, encoding="utf-8")

    def run(self, *words: str) -> Run:
        """Run a command."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = whet(["--project", str(self.work), *words], self.env)
        return Run(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))

    def start(self, *words: str, before: str = "") -> subprocess.Popen[str]:
        """Start a command as a process of its own; `before` is done first in it."""
        script = f"import sys\n{before}\nfrom whet.interfaces.cli import main\nsys.exit(main())"
        return subprocess.Popen(
            [sys.executable, "-P", "-c", script, *words],
            env={**self.env, "PYTHONUTF8": "1"},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def skill(self, name: str, body: str = "Do it.\n", where: str = "source") -> Path:
        """A skill in a directory."""
        directory = self.top / where / name
        directory.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: Does {name}. Use it for {name}.\n---\n\n{body}"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        return directory

    def digest(self) -> dict[str, str]:
        """Every file, link and directory of the home and the state, caches left out, by what it holds."""
        found = {}
        for base in (self.home, self.state):
            for directory, directories, files in os.walk(base):
                if directory == str(self.state):
                    directories[:] = [name for name in directories if name not in CACHES]
                    files = [name for name in files if not name.startswith(CACHES) and not _is_empty(directory, name)]  # noqa: PLW2901  only these
                for name in (*directories, *files):
                    path = os.path.join(directory, name)
                    found[os.path.relpath(path, self.top)] = _content(path)
        return found

    def left(self) -> list[str]:
        """What fetching left behind."""
        fetching = self.state / "fetching"
        return os.listdir(fetching) if fetching.exists() else []

    def check_whole(self) -> None:
        """The history and the record prove, and everything is as it was installed."""
        assert self.run("verify-history").code == 0
        assert self.run("guard", "log", "--verify").code == 0
        assert self.run("verify").code == 0


def machine_at(top: Path) -> Machine:
    """A machine on which a skill called `kept` is installed."""
    machine = Machine(top)
    machine.allow()
    assert machine.run("install", str(machine.skill("kept"))).code == 0
    return machine


def _content(path: str) -> str:
    if os.path.islink(path):
        return f"-> {os.readlink(path)}"
    if os.path.isdir(path):
        return "directory"
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def children() -> list[str]:
    """The processes that this one has started and that are not over, but for those of a hub that other tests use."""
    listed = subprocess.run(["ps", "-o", "ppid=,args=", "-A"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 1) for line in listed.splitlines()]
    return [
        row[1]
        for row in rows
        if row[0] == str(os.getpid()) and not row[1].startswith("ps ") and "hub.checker" not in row[1]
    ]


# servers


class Kind(NamedTuple):
    """One way to fetch the skill `review` over HTTP."""

    source: str
    """As it is typed; `{url}` is the server."""
    routes: Callable[[int], dict[str, bytes | Route]]
    """What an honest server answers, when it has so many editions of the skill."""
    at: Callable[[int], str]
    """The path that is played with, at an edition."""
    hashed: bool = False
    """Is its hash known before it comes?"""


def _main(edition: int) -> bytes:
    return main("review", f"Reviews, edition {edition}.")


def _archive(edition: int) -> bytes:
    return packed("review", {"references/a.md": b"%d" % edition}, f"Reviews, edition {edition}.")


def _indexed(form: str, path: str, data: bytes) -> bytes:
    digest = f"sha256:{sha256(data)}"
    entry = {"name": "review", "type": form, "description": "Reviews.", "url": path, "digest": digest}
    return dumped({"$schema": SCHEMA, "skills": [entry]})


def _loose(edition: int) -> dict[str, bytes | Route]:
    listed = {"name": "review", "description": "Reviews.", "files": ["SKILL.md", "references/a.md"]}
    base = "/.well-known/skills/review"
    return {
        OLD: dumped({"skills": [listed]}),
        f"{base}/SKILL.md": _main(edition),
        f"{base}/references/a.md": b"%d" % edition,
    }


def _claw(edition: int) -> dict[str, bytes | Route]:
    number = f"1.0.{edition}"
    skill = {"slug": "review", "displayName": "Review", "summary": "Reviews.", "tags": {"latest": number}}
    latest = {"version": number, "createdAt": 0, "changelog": ""}
    owner = {"handle": "petra", "displayName": "Petra", "image": None}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("SKILL.md", _main(edition))
    return {
        "/api/v1/skills/review": dumped({"skill": skill, "latestVersion": latest, "owner": owner}),
        f"/api/v1/skills/review/versions/{number}": dumped({"version": latest, "skill": None}),
        "/api/v1/download": target.getvalue(),
    }


def _hub(edition: int) -> dict[str, bytes | Route]:
    hub = Hub()
    for number in range(1, edition + 1):
        hub.publish("acme", "review", f"1.0.{number}", _archive(number))
    skill = "/api/v1/skills/acme/review"
    version = f"{skill}/versions/1.0.{edition}"
    answers = {path: hub.answer(Asked("GET", path, {}, {}, b"")) for path in (skill, version, f"{version}/archive")}
    return {path: Route(given.status, given.headers, given.body) for path, given in answers.items()}


KINDS = {
    "main file": Kind("{url}/review/SKILL.md", lambda n: {"/review/SKILL.md": _main(n)}, lambda _: "/review/SKILL.md"),
    "archive": Kind("{url}/review.zip", lambda n: {"/review.zip": _archive(n)}, lambda _: "/review.zip"),
    "index": Kind(
        "well-known:{url}",
        lambda n: {NEW: _indexed("archive", "/r.zip", _archive(n)), "/r.zip": _archive(n)},
        lambda _: NEW,
    ),
    "indexed main file": Kind(
        "well-known:{url}",
        lambda n: {NEW: _indexed("skill-md", "/r.md", _main(n)), "/r.md": _main(n)},
        lambda _: "/r.md",
        hashed=True,
    ),
    "indexed archive": Kind(
        "well-known:{url}",
        lambda n: {NEW: _indexed("archive", "/r.zip", _archive(n)), "/r.zip": _archive(n)},
        lambda _: "/r.zip",
        hashed=True,
    ),
    "loose files": Kind("well-known:{url}", _loose, lambda _: "/.well-known/skills/review/SKILL.md"),
    "claw": Kind("clawhub:{url}/petra/review", _claw, lambda _: "/api/v1/skills/review"),
    "claw archive": Kind("clawhub:{url}/petra/review", _claw, lambda _: "/api/v1/download"),
    "hub": Kind("hub:{url}/acme/review", _hub, lambda _: "/api/v1/skills/acme/review"),
    "hub archive": Kind(
        "hub:{url}/acme/review", _hub, lambda n: f"/api/v1/skills/acme/review/versions/1.0.{n}/archive", hashed=True
    ),
}


class Stage:
    """A server that plays one kind, and can be told to play it badly while it runs."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.server: Server
        self._routes: dict[str, bytes | Route] = {}

    @property
    def source(self) -> str:
        """What a person types to fetch from here."""
        return self.kind.source.format(url=self.server.url)

    def play(self, edition: int, how: Callable[[bytes], bytes | Route] | None = None) -> None:
        """Have so many editions; where `how` is given, it makes what is at the path that is played with."""
        self._routes = self.kind.routes(edition)
        if how is not None:
            at = self.kind.at(edition)
            honest = self._routes[at]
            self._routes[at] = how(honest.body if isinstance(honest, Route) else honest)

    def answer(self, request: Request) -> bytes | Route:
        """What the server does with a request."""
        return self._routes.get(request.path.partition("?")[0], Route(404))


@contextlib.contextmanager
def staged(kind: Kind, *, tls: bool = False) -> Iterator[Stage]:
    """A server of a kind, honest and with one edition at first. `/round` leads to itself."""
    stage = Stage(kind)
    stage.play(1)
    paths = {*kind.routes(1), *kind.routes(2)}
    with serving({"/round": redirect("/round"), **dict.fromkeys(paths, stage.answer)}, tls=tls) as server:
        stage.server = server
        yield stage


def _is_empty(directory: str, name: str) -> bool:
    """A companion of a database in which nothing is kept: whoever is killed while reading leaves it behind."""
    return name.endswith("-shm") or (name.endswith("-wal") and os.path.getsize(os.path.join(directory, name)) == 0)
