"""Files that are damaged: every file that Whet keeps, in every way that disks, editors and people damage files."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
from collections import Counter
from typing import TYPE_CHECKING

from chaos.verdict import Unit, Verdict, errors, number_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chaos.machine import Facts, Machine, Stock
    from chaos.verdict import Failure

WAYS = (
    *("deleted", "emptied", "junk", "directory", "older", "unreadable", "link to nowhere", "pipe", "socket"),
    *("cut 1", "cut 50", "cut 99", "flip 0", "flip 10", "flip 30", "flip 50", "flip 70", "flip 90", "flip 99"),
    *("zeros 20", "zeros 60", "doubled"),
)
"""What is done to a file; a number says where, in hundredths of its length."""
REMADE = ("cache.db", "cache/", "locks/", "usage/", "fetching/")
"""What may be damaged without a word: it is made again, or only counts."""


def files(machine: Machine) -> list[str]:
    """Everything that Whet keeps on a machine, by its path there; of equal things that are many, each one."""
    kept = [path for path in sorted(machine.state.rglob("*")) if path.is_file()]
    others = [machine.lock, machine.home / ".claude.json", machine.home / ".claude" / "settings.json"]
    return [str(path.relative_to(machine.top)) for path in (*kept, *others) if path.exists()]


def subject(path: str) -> str:
    """What a file is, for the table."""
    parts = path.split("/")
    if parts[0] == "home":
        return parts[-1]
    return parts[1] if len(parts) == 2 else f"{parts[1]}/"


def units(stock: Stock, count: int, seed: int) -> list[Unit]:
    """Every file in every way, or so many of them: each kind of file in each way first."""
    chance, many = random.Random(seed), Counter(map(subject, files(stock.take("rich"))))
    every = [Unit("damage", kind, f"{way}/{at}") for kind in many for at in range(many[kind]) for way in WAYS]
    chance.shuffle(every)
    first = {(unit.case, unit.at.partition("/")[0]): unit for unit in every}
    rest = [unit for unit in every if unit not in first.values()]
    return every if count <= 0 else [*first.values(), *rest][:count]


def run(stock: Stock, unit: Unit) -> list[Failure]:
    """One damage: nobody says that all is fine, and a repair brings back everything that is still anywhere."""
    verdict, machine = Verdict(unit), stock.take("rich")
    way, _, number = unit.at.partition("/")
    place = [path for path in files(machine) if subject(path) == unit.case][int(number)]
    before = machine.facts()
    path = machine.top / place
    known = blob_of(path)
    damage(stock, path, way)
    destroyed = frozenset() if not known or known in blobs(machine) else _needing(before, known, stock)
    damaged = machine.facts()
    harm = harmed(before, damaged, place)
    listed = verdict.ran(machine.whet("list", "--all"))
    if listed.status == 0:
        verdict.expect(machine.listed(listed) == before.skills, "torn", "a list shows other skills than there are")
    odd = os.path.lexists(path) and not path.is_file() and subject(place) not in (".claude.json", "settings.json")
    check = verdict.no_false_fine(machine, (*harm, f"{place} is not a file") if odd else harm)
    readers = (("history",), ("guard", "log", "--verify"), ("sync", "--list"), ("connect",))
    for words in (("verify-history",), readers[number_of(unit) % len(readers)]):
        told = verdict.ran(machine.whet(*words))
        if words[0] == "verify-history" and way != "unreadable":
            cut = damaged.journal != before.journal or any("content" in problem for problem in harm)
            verdict.expect(told.status != 0 or not cut, "fine", f"verify-history is fine with: {'; '.join(harm[:2])}")
    write = verdict.ran(machine.whet("skill", "patch", "alpha", "--find", "Second", "--replace", "Third"))
    now = machine.facts()
    changed = now.skills["alpha"] != before.skills["alpha"]
    verdict.expect(
        changed == (write.status == 0), "wrong", f"{write}, but the skill is {'not ' * (not changed)}changed"
    )
    clean = verdict.repaired(machine, twice=number_of(unit) % 2 == 0)
    after = machine.facts()
    verdict.expect(after.skills == now.skills, "lost", "the repair changed skills")
    verdict.keeps(after, before, destroyed=destroyed)
    if clean and not verdict.failures:
        gone = [entry for entry in before.journal if entry not in after.journal]
        verdict.expect(
            not gone or _said(machine), "lost", f"{len(gone)} entries of the history are gone without a word"
        )
        again = verdict.ran(machine.whet("skill", "patch", "beta", "--find", "First", "--replace", "Third"))
        verdict.expect(again.status == 0, "wrong", f"after a clean repair: {again}")
    if not clean and way != "unreadable":
        theirs = place.startswith("home/") or place == "state/config.toml"  # a person writes these, and mends them
        verdict.expect(theirs or known, "wrong", f"cannot be repaired: {errors(check)}")
    return verdict.failures


def _said(machine: Machine) -> bool:
    """Whether the history itself says that something of it was lost."""
    return "lost" in machine.whet("history").out


def harmed(before: Facts, damaged: Facts, place: str) -> tuple[str, ...]:
    """What a damage took away, seen without Whet; nothing for what is made again."""
    if place.removeprefix("state/").startswith(REMADE):
        return ()
    found = list(damaged.problems)
    if damaged.journal != before.journal:
        found.append(f"the history has {len(damaged.journal)} entries of {len(before.journal)}")
    if damaged.audit != before.audit:
        found.append(f"the record of decisions has {len(damaged.audit)} entries of {len(before.audit)}")
    if damaged.contents != before.contents:
        found.append(f"{len(before.contents - damaged.contents)} contents are gone")
    return tuple(found)


def blobs(machine: Machine) -> set[str]:
    """The hashes of everything stored that is what its name says."""
    return {hash_ for path in (machine.state / "contents").glob("??/*") if (hash_ := blob_of(path))}


def blob_of(path: Path) -> str:
    """The hash of a stored file that is what its name says; "" for any other file."""
    if not path.is_file() or path.parent.parent.name != "contents" or path.is_symlink():
        return ""
    try:
        hash_ = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
    return hash_ if hash_ == path.parent.name + path.name else ""


def _needing(before: Facts, known: str, stock: Stock) -> frozenset[str]:
    """The contents that cannot be had without this blob: those whose list it is or names it."""
    kept = stock.top / "kept" / "rich" / "state" / "contents"
    found = {f"sha256:{known}"}
    for path in kept.glob("??/*"):
        if path.is_file() and known.encode() in path.read_bytes():
            found.add(f"sha256:{path.parent.name}{path.name}")
    return frozenset(found & before.contents)


def damage(stock: Stock, path: Path, way: str) -> None:
    """Do it."""
    word, _, number = way.partition(" ")
    data = path.read_bytes()
    place = min(len(data) - 1, len(data) * int(number) // 100) if number.isdigit() else 0
    if word in ("deleted", "directory", "link", "pipe", "socket"):
        path.unlink()
        if word == "directory":
            (path / "something").mkdir(parents=True)
        elif word == "link":
            path.symlink_to(path.parent / "nowhere" / "at" / "all")
        elif word in ("pipe", "socket"):
            os.mknod(path, (stat.S_IFIFO if word == "pipe" else stat.S_IFSOCK) | 0o600)
    elif word == "unreadable":
        path.chmod(0)
    elif word == "older":
        _older(stock, path)
    else:
        changes: dict[str, Callable[[], bytes]] = {
            "emptied": lambda: b"",
            "junk": lambda: random.Random(1).randbytes(max(len(data), 100)),
            "cut": lambda: data[:place],
            "flip": lambda: data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :] if data else b"",
            "zeros": lambda: data[:place] + bytes(min(600, len(data) - place)) + data[place + 600 :],
            "doubled": lambda: data + data,
        }
        mode = path.stat().st_mode
        path.write_bytes(changes[word]())
        path.chmod(mode)


def _older(stock: Stock, path: Path) -> None:
    """The file as it was before the last changes, as a person restores it from a copy; its log is of today."""
    early = stock.early()
    other = early / path.relative_to(stock.machine.top)
    if other.is_file():
        shutil.copy2(other, path)
        for part in ("-wal", "-shm"):
            if path.name.endswith(".db") and os.path.exists(f"{path}{part}"):
                os.unlink(f"{path}{part}")
    else:
        path.unlink()
