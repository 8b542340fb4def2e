"""A machine below one directory, commands of Whet on it, and what lies there, read without Whet.

A command runs in a forked child of a process that has imported Whet already: as real as any other process, and a tenth
as expensive. Permissions count for it even when root has started it.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import traceback
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

from places import Places
from rights import GIVE_UP

from chaos.kill import TESTS, arm, die_after, load, watch_databases

ROOMS = (
    *("skill", "skill.validate", "store", "guard", "library", "routing", "authoring", "prompt", "sources", "api"),
    *("sources.refs", "sources.install", "sources.lock", "sources.sync", "learning", "interfaces.clients"),
    *("interfaces.cli", "interfaces.cli.commands"),
)
MEMORY = "/dev/shm"
PATIENCE = 120.0
"""Seconds after which a command counts as one that waits for ever; it ends with a signal then."""
NEVER = 10**9
"""A step that nobody comes to."""
OLD_STATE = Path(TESTS) / "store" / "fixtures" / "old_state.tar.gz"


class Run(NamedTuple):
    """What a command came to."""

    words: tuple[str, ...]
    status: int
    """The exit code; -9 and the like for a signal."""
    out: str
    err: str
    steps: int = 0
    """How many steps it took, of one that was counted."""

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON document on its output; empty where there is none."""
        with suppress(ValueError):
            told = json.loads(self.out)
            if isinstance(told, dict):
                return told
        return {}

    @property
    def failed(self) -> str:
        """What is wrong with any command, whatever it was asked: a traceback, a signal, or an answer that is none."""
        if "Traceback (most recent call last)" in self.err or "Traceback (most recent call last)" in self.out:
            return self.err.strip().splitlines()[-1] if self.err.strip() else "a traceback on its output"
        if self.status < 0 or self.status not in (0, 1, 2, 3, 4):
            return f"ended with {self.status}"
        return "" if self.answer else f"no answer: {self.out[:80]!r} {self.err[:200]!r}"

    def __str__(self) -> str:
        told = f"{self.answer.get('code', '')} {self.answer.get('error', '')}".strip()
        return f"`whet {' '.join(self.words)[:60]}` -> {self.status} {told}".rstrip()


class Facts(NamedTuple):
    """What lies on the disk, read without Whet."""

    skills: dict[str, str]
    """Name -> digest of every directory in the root that anybody sees."""
    contents: frozenset[str]
    """The digests of all stored contents that can be put together again, each proven by its hash."""
    journal: tuple[str, ...]
    """The hashes of the entries of the history, oldest first."""
    audit: tuple[str, ...]
    lock: str
    """What the lock names, with digests; "" where there is none, "damaged" where it cannot be read."""
    others: dict[str, str]
    """Files and links in the directories of other clients."""
    problems: tuple[str, ...]
    """What is wrong with any of it."""

    @property
    def view(self) -> tuple[object, ...]:
        """What a person or a client sees, apart from the history."""
        return self.skills, self.lock, self.others


class Machine(Places):
    """A home, Whet's state, a working directory, and directories that skills come from."""

    def whet(self, *words: str, step: int = 0, seconds: float = 0.0) -> Run:
        """Run a command with `--json`; it dies at that step, or after so many seconds."""
        files = [os.memfd_create(name) for name in ("out", "err", "steps")]
        child = os.fork()
        if not child:
            self._be(words, files, step, seconds)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out, err, steps = (_taken(file) for file in files)
        return Run(words, status, out, err, int(steps or 0))

    def _be(self, words: tuple[str, ...], files: list[int], step: int, seconds: float) -> None:
        """The life of the child."""
        from chaos import kill
        from whet.interfaces.cli import main

        code = 70
        try:
            os.dup2(files[0], 1)
            os.dup2(files[1], 2)
            sys.stdin = open(os.devnull)  # noqa: SIM115  open to the end of this process
            sys.stdout, sys.stderr = (os.fdopen(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))
            gc.disable()
            os.chdir(self.work)
            exec(GIVE_UP, {})
            os.environ.clear()
            os.environ.update(self.env)
            if step:
                watch_databases()
                arm(step)
            die_after(seconds or PATIENCE)
            code = main([*words, "--json"], self.env)
            sys.stdout.flush()
            sys.stderr.flush()
            os.pwrite(files[2], str(step - kill.left).encode(), 0)
        except BaseException:  # noqa: BLE001  the child ends here, and its parent reads what it said
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def write(self, where: str, name: str, body: str = "First line.\n\nLast line.\n", **files: str) -> Path:
        """A skill by hand, with these references."""
        directory = self.top / where / name
        directory.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: Does what {name} is for. Use it for {name}.\n---\n\n{body}"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        for file, content in files.items():
            (directory / "references").mkdir(exist_ok=True)
            (directory / "references" / f"{file}.md").write_text(content, encoding="utf-8")
        return directory

    def listed(self, run: Run) -> dict[str, str]:
        """What a list of skills shows, with the digest of what lies where it says."""
        return {
            card["name"]: digest_of(Path(card["path"]))
            for card in run.answer.get("skills", ())
            if card["path"].startswith(str(self.root))
        }

    def facts(self) -> Facts:
        """What lies here."""
        problems: list[str] = []
        skills = {path.name: digest_of(path) for path in _inside(self.root) if path.name[0] != "." and path.is_dir()}
        rows = read_rows(self.state, problems)
        lost = _lost(rows)
        blobs, damaged = read_blobs(self.state / "contents")
        lists = _lists(blobs)
        excused = {name for of in lost for name in (of, *lists.get(of, ()))}
        problems += [text for name, text in damaged.items() if name not in excused]
        contents = frozenset(f"sha256:{of}" for of, names in lists.items() if names <= {*blobs})
        named = {of for table in ("journal",) for row in rows.get(table, ()) for of in (row["before"], row["after"])}
        problems += [f"content {of[:19]} is gone" for of in sorted(named - contents - {"", None}) if of[7:] not in lost]
        lock = "" if not os.path.lexists(self.lock) else "damaged"
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            entries = json.loads(self.lock.read_bytes() if self.lock.is_file() else b"")["skills"]
            lock = json.dumps({path: entry["digest"] for path, entry in entries.items()}, sort_keys=True)
        if lock == "damaged":
            problems.append("the lock cannot be read")
        others = {
            str(path.relative_to(self.home)): _content(path)
            for client in (".claude", ".kiro", ".claude.json")
            for path in sorted([self.home / client, *(self.home / client).rglob("*")])
            if (path.is_symlink() or path.is_file()) and ".whet-" not in str(path)
        }
        journal, audit = (tuple(row["hash"] for row in rows.get(name, ())) for name in ("journal", "audit"))
        for name, hashes in (("history.log", journal), ("audit.log", audit)):
            problems += check_log(self.state / name, hashes)
        return Facts(skills, contents, journal, audit, lock, others, tuple(problems))

    def left(self) -> list[str]:
        """What a writer left behind, anywhere."""
        return sorted(
            str(path.relative_to(self.top))
            for base in (self.home, self.state)
            for path in base.rglob("*")
            if ".whet-tmp-" in path.name or ".whet-old-" in path.name
        )


def digest_of(directory: Path) -> str:
    """The digest of a skill's directory by the rule in the documentation: one line for each file, sorted by path."""
    lines = {}
    for path in directory.rglob("*"):
        name = path.relative_to(directory).as_posix()
        if ".whet-" in name:
            continue
        if path.is_symlink():
            mark, data = b"link", os.fsencode(os.readlink(path))
        elif path.is_file():
            mark = b"executable" if path.stat().st_mode & stat.S_IXUSR else b"file"
            data = path.read_bytes()
        else:
            continue
        lines[name.encode()] = b"%s\0%s\0%s\n" % (name.encode(), mark, hashlib.sha256(data).hexdigest().encode())
    return f"sha256:{hashlib.sha256(b''.join(lines[name] for name in sorted(lines))).hexdigest()}" if lines else ""


def read_blobs(directory: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """Every stored file by its hash, and what is wrong with those that are not what their name says."""
    found, problems = {}, {}
    for path in directory.glob("??/" + "?" * 62):
        name = path.parent.name + path.name
        if not path.is_file():
            problems[name] = f"blob {name[:12]} is not a file"
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            problems[name] = f"blob {name[:12]} cannot be read: {error.strerror}"
            continue
        if hashlib.sha256(data).hexdigest() == name:
            found[name] = data
        else:
            problems[name] = f"blob {name[:12]} is damaged"
    return found, problems


def _lists(blobs: dict[str, bytes]) -> dict[str, set[str]]:
    """The hashes that each list of files names; a list is stored like a file, and its hash is the content's digest."""
    found = {}
    for name, data in blobs.items():
        lines = data.split(b"\n")
        parts = [line.split(b"\0") for line in lines[:-1]]
        if not lines[-1] and parts and all(len(part) == 3 and len(part[2]) == 64 for part in parts):
            found[name] = {part[2].decode("ascii", "replace") for part in parts}
    return found


def _lost(rows: dict[str, list[dict[str, Any]]]) -> set[str]:
    """The hashes of contents that the history itself says are lost."""
    told = " ".join(str(row["reason"]) for row in rows.get("journal", ()) if row["action"] == "lost")
    return set(re.findall(r"sha256:([0-9a-f]{64})", told))


def read_rows(state: Path, problems: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Every row of the state database, by its table, from a copy."""
    found: dict[str, list[dict[str, Any]]] = {}
    if not (state / "state.db").is_file():
        if (state / "contents").exists() or (state / "history.log").exists():
            problems.append("state.db is not there")
        return found
    with TemporaryDirectory(prefix="whet-facts-", dir=_memory()) as copy:
        try:
            for part in ("", "-wal"):
                if (state / f"state.db{part}").exists():
                    shutil.copyfile(state / f"state.db{part}", f"{copy}/state.db{part}")
            with closing(sqlite3.connect(f"{copy}/state.db")) as connection:
                connection.row_factory = sqlite3.Row
                if (told := connection.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
                    problems.append(f"state.db: {told}")
                tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for table in tables:
                    order = " ORDER BY id" if table in ("journal", "audit") else ""
                    try:
                        found[table] = [dict(row) for row in connection.execute(f'SELECT * FROM "{table}"{order}')]
                    except (sqlite3.Error, UnicodeDecodeError) as error:
                        problems.append(f"state.db, {table}: {error}")
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            problems.append(f"state.db: {error}")
        else:
            problems += [f"state.db: no table {name}" for name in ("journal", "audit", "intents") if name not in found]
    for table in ("journal", "audit"):
        previous = ""
        for row in found.get(table, ()):
            said = any(other["action"] == "lost" and "entries" in str(other["reason"]) for other in found[table])
            if previous and row["previous"] != previous and not said:
                problems.append(f"{table}: entry {row['id']} does not follow the one before")
            previous = row["hash"]
    return found


def check_log(path: Path, hashes: tuple[str, ...]) -> list[str]:
    """What is wrong with the log beside a chain; one that lags by what a killed process did not append is fine."""
    if not path.is_file():
        return [f"{path.name} is not there"] if hashes and LOGGED else []
    logged = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            logged.append(json.loads(line)["hash"])
        except (ValueError, KeyError, TypeError):
            return [f"{path.name}: a line cannot be read"]
    return [] if hashes[: len(logged)] == tuple(logged) else [f"{path.name} and the database do not agree"]


LOGGED = False
"""Whether a chain has a log beside the database; set when a machine is made."""


def _content(path: Path) -> str:
    try:
        return f"-> {os.readlink(path)}" if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return str(error)


def _inside(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def _taken(file: int) -> str:
    data = os.pread(file, 1 << 24, 0)
    os.close(file)
    return data.decode("utf-8", "replace")


def _memory() -> str | None:
    return MEMORY if os.access(MEMORY, os.W_OK) else None


def mountable() -> tuple[str, ...]:
    """How to run something that may mount file systems of its own; empty where nobody may."""
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    with TemporaryDirectory() as directory, suppress(FileNotFoundError):
        probe = (*unshare, "mount", "-t", "tmpfs", "whet-test", directory)
        if subprocess.run(probe, capture_output=True).returncode == 0:
            return unshare
    return ()


class Stock:
    """Machines that are prepared once and put back as often as needed. All lie where they were made, because the
    history names directories: a process has one stock, and one machine at a time."""

    def __init__(self) -> None:
        load(*ROOMS)
        self.top = Path(mkdtemp(prefix="whet-chaos-", dir=_memory())).resolve()
        self.machine = Machine(self.top / "now")
        self._warm_up()

    def _warm_up(self) -> None:
        """Let this process do once what its children do often: rules are compiled and tables read before they fork."""
        from whet.interfaces.cli import main

        machine = Machine(self.top / "warm")
        for directory in (machine.home, machine.state, machine.work):
            directory.mkdir(parents=True)
        with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            new = ("create", "warm", "--description", "Warms. Use it.", "--body", "Run `ls`.\n")
            for words in (new, ("doctor", "--repair"), ("list",), ("rename", "warm", "warmer")):
                main(["--project", str(machine.work), *words], machine.env)
        gc.collect()
        gc.freeze()

    def take(self, name: str) -> Machine:
        """The machine of that name as it was prepared."""
        kept = self.top / "kept" / name
        if not kept.exists():
            shutil.rmtree(self.machine.top, ignore_errors=True)
            for directory in (self.machine.home, self.machine.state, self.machine.work):
                directory.mkdir(parents=True)
            PREPARED[name](self.machine)
            kept.parent.mkdir(exist_ok=True)
            shutil.copytree(self.machine.top, kept, symlinks=True)
        return self.put_back(kept)

    def move(self, top: Path) -> None:
        """Have the machine there from now on; all are prepared again."""
        force_remove(self.top / "kept")
        force_remove(self.machine.top)
        self.machine = Machine(top)

    def early(self) -> Path:
        """A copy of the rich machine when it was half prepared."""
        return self.top / "kept" / "rich" / "early"

    def keep(self) -> Path:
        """A copy of the machine as it is now."""
        kept = self.top / "kept" / "for-a-moment"
        force_remove(kept)
        shutil.copytree(self.machine.top, kept, symlinks=True)
        return kept

    def put_back(self, kept: Path) -> Machine:
        """The machine as it was when it was copied to `kept`."""
        force_remove(self.machine.top)
        shutil.copytree(kept, self.machine.top, symlinks=True)
        return self.machine

    def close(self) -> None:
        """Remove everything."""
        disk = self.machine.top.parent
        if disk.is_mount():
            os.chdir("/")
            subprocess.run(["umount", str(disk)], check=True)
        force_remove(self.top)


def force_remove(top: Path) -> None:
    """Remove a directory in which permissions may be missing."""
    if top.exists():
        for directory, _, _ in os.walk(top):
            if not os.access(directory, os.W_OK | os.X_OK | os.R_OK):
                os.chmod(directory, 0o700)
        shutil.rmtree(top)


def _done(machine: Machine, *words: str) -> None:
    run = machine.whet(*words)
    assert run.status == 0, f"{run}\n{run.err}"


def prepare_rich(machine: Machine) -> None:
    """Skills with a history, installed ones of which some are newer at their source and one is edited, a deleted one,
    a proposal, decisions, a sync and a connected client."""
    global LOGGED  # noqa: PLW0603  a fact about the version that is tested
    for name in ("one", "two", "three"):
        machine.write("src", name, a="1", b="1")
    for name in ("four", "five", "six", "seven"):
        machine.write("more", name, a="1")
    (machine.home / ".claude").mkdir()
    (machine.home / ".kiro").mkdir()
    (machine.home / ".claude.json").write_text('{"numStartups": 3}\n')
    (machine.state / "config.toml").write_text("network_timeout = 5\n")
    for name in ("alpha", "beta", "gamma"):
        _done(machine, "create", name, "--description", f"Does {name}. Use it for {name}.", "--body", "First line.\n")
    _done(machine, "patch", "alpha", "--find", "First", "--replace", "Second")
    _done(machine, "write-file", "alpha", "references/a.md", "--content", "a")
    _done(machine, "write-file", "beta", "scripts/run.sh", "--content", "#!/bin/sh\n", "--executable")
    _done(machine, "create", "gone", "--description", "Is gone. Use it never.", "--body", "Gone.\n")
    _done(machine, "delete", "gone")
    _done(machine, "patch", "beta", "--find", "First", "--replace", "Proposed", "--stage")
    _done(machine, "install", str(machine.top / "src"), "--all", "--yes")
    for name in ("home", "state"):
        shutil.copytree(machine.top / name, machine.top / "early" / name, symlinks=True)
    _done(machine, "patch", "gamma", "--find", "First", "--replace", "Second")
    _done(machine, "disable", "gamma")
    _done(machine, "pin", "beta")
    _done(machine, "tap", "add", "mine", str(machine.top / "more"))
    _done(machine, "feedback", "alpha", "please do alpha", "--fits")
    _done(machine, "sync", "claude")
    _done(machine, "connect", "claude-code", "--yes")
    machine.write("src", "one", "First line.\n\nNewer line.\n", a="2", c="new")
    machine.write("src", "two", "First line.\n\nNewer line.\n", a="2", b="1")
    machine.write("home/.agents/skills", "two", "My line.\n\nLast line.\n", a="1", b="1")
    LOGGED = (machine.state / "history.log").exists()


def prepare_old(machine: Machine) -> None:
    """A state directory of the version before `state.db` held everything."""
    with tarfile.open(OLD_STATE) as archive:
        archive.extractall(machine.top, filter="data")


def prepare_damaged(machine: Machine) -> None:
    """The rich one, of whose database a piece is overwritten, with something that was left behind."""
    prepare_rich(machine)
    path = machine.state / "state.db"
    data = bytearray(path.read_bytes())
    data[4096 * 3 + 64 : 4096 * 3 + 128] = b"x" * 64
    path.write_bytes(data)


def prepare_backed_up(machine: Machine) -> None:
    """A machine that has lost a skill, and a backup from before."""
    prepare_rich(machine)
    _done(machine, "backup", str(machine.top / "kept.backup"))
    force_remove(machine.root / "alpha")


PREPARED = {"rich": prepare_rich, "old": prepare_old, "damaged": prepare_damaged, "backed-up": prepare_backed_up}
