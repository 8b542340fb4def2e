"""Hostile uploads against the publish route of a real hub: nothing is half published, and memory stays bounded."""

from __future__ import annotations

import io
import json
import random
import socket
import stat
import struct
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from hub.server import VERSION, Served, serving
from hub.world import make_archive
from whet.hub.instance import open_hub
from whet.skill.tree import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = make_archive(check_sh="echo checked\n")
MAIN = zipfile.ZipFile(io.BytesIO(GOOD.data)).read("review/SKILL.md")
BAD_NAMES = (
    *("../escape.md", "review/../../escape.md", "/etc/escape.md", "C:/escape.md", "review\\..\\..\\escape.md"),
    *("review/./x/../../y.md", "review//double.md", "review/nul\x01name.md", "review/trailing. ", "review/CON"),
    *("review/" + "d/" * 80 + "deep.md", "review/" + "n" * 300 + ".md", "other/SKILL.md", "review/a:b.md"),
)


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """An archive with the skill's own file, and these after it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("review/SKILL.md", MAIN)
        for name, data in files:
            archive.writestr(name, data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target.encode()


def overstated(data: bytes) -> bytes:
    """The same archive, whose directory says that the first file is larger than it is."""
    at = data.index(b"PK\x01\x02")
    return data[: at + 24] + struct.pack("<I", 0xFFFF_FFF0) + data[at + 28 :]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def tampered(count: int) -> Iterator[tuple[str, bytes, str]]:
    """So many archives, each with the digest that is sent with it; the same ones every time."""
    chance = random.Random(24)
    size, digest = len(GOOD.data), GOOD.digest
    for name in BAD_NAMES:
        yield f"name {name!r}", zipped((name, b"x")), digest
    for target in ("/etc/passwd", "../../secret", "SKILL.md"):
        yield f"link to {target}", zipped(link("review/link", target)), digest
    duplicates = ("review/SKILL.md", "review/skill.md", "review/SKILL.MD")
    for name in duplicates:
        yield f"twice {name}", zipped((name, b"---\nname: review\n---\n")), digest
    yield "huge ratio", zipped(("review/zeros", bytes(DEFAULT_LIMITS.file_bytes + 1))), digest
    yield "many huge", zipped(*((f"review/zeros-{n}", bytes(15 << 20)) for n in range(6))), digest
    yield "too many files", zipped(*((f"review/{n}.md", b"x") for n in range(2_100))), digest
    yield "overstated", overstated(GOOD.data), digest
    yield "zip in zip", zipped(("review/inner.zip", GOOD.data)), digest
    yield "empty", b"PK\x05\x06" + bytes(18), digest
    made = len(BAD_NAMES) + 3 + len(duplicates) + 6
    for number in range(made, count):
        kind = ("truncated", "flipped", "wrong digest", "prefixed", "spliced")[number % 5]
        at = chance.randrange(1, size)
        if kind == "truncated":
            yield kind, GOOD.data[:at], digest
        elif kind == "flipped":
            yield kind, GOOD.data[:at] + bytes([GOOD.data[at] ^ 1 << chance.randrange(8)]) + GOOD.data[at + 1 :], digest
        elif kind == "wrong digest":
            yield kind, GOOD.data, f"sha256:{chance.randbytes(32).hex()}"
        elif kind == "prefixed":
            yield kind, chance.randbytes(at) + GOOD.data, f"sha256:{chance.randbytes(32).hex()}"
        else:
            yield kind, GOOD.data[:at] + chance.randbytes(64) + GOOD.data[at:], f"sha256:{chance.randbytes(32).hex()}"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_tampered_archives_leave_nothing_behind(tmp_path: Path, quick: bool) -> None:
    count = 60 if quick else 300
    seen: dict[int, int] = {}
    with serving(tmp_path, "sqlite") as hub:
        people = [_join(hub, f"person-{number}") for number in range(4)]  # each may write 120 times a minute
        for number, (what, data, digest) in enumerate(tampered(count)):
            path = VERSION.replace("1.0.0", f"1.0.{number}")
            answer = hub.ask("PUT", path, people[number % 4], data, Whet_Digest=digest)
            if answer.status == 201:  # a bit that means nothing, such as a time: the content is what the digest says
                assert (what, answer.json["digest"]) == ("flipped", GOOD.digest)
                assert hub.ask("GET", f"{path}/archive").status == 200
            else:
                assert (what, answer.status in (400, 413, 422)) == (what, True), answer.body
                assert hub.ask("GET", path).code == (404, "version-not-found")
            seen[answer.status] = seen.get(answer.status, 0) + 1
        assert sum(seen.values()) == count
        changes = hub.ask("GET", "/api/v1/changes?limit=100").json["changes"]
        assert sum(change["act"] == "publish" for change in changes) == seen.get(201, 0)
        assert hub.publish(path=VERSION.replace("1.0.0", "2.0.0")).status == 201  # and it still works
    left = open_hub(str(tmp_path / "hub"))
    try:
        assert left.verify()[0] == len(changes) + 1
    finally:
        left.close()


def _join(hub: Served, account: str) -> str:
    """The token of a new publisher."""
    asked = json.dumps({"owner": "acme", "role": "publisher"}).encode()
    secret = hub.ask("POST", "/api/v1/invitations", "admin", asked).json["invitation"]
    body = json.dumps({"invitation": secret, "account": account}).encode()
    token: str = hub.ask("POST", "/api/v1/invitations/accept", body=body).json["token"]
    return token


def memory_of(hub: Served) -> int:
    """Kilobytes that the process of a hub has had at most."""
    if sys.platform != "linux":
        pytest.skip("only Linux tells the most memory that another process has had")
    with open(f"/proc/{hub.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def test_slow_and_huge_uploads_take_no_memory_and_publish_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, "sqlite") as hub:
        assert hub.publish().status == 201
        before = memory_of(hub)
        head = (
            f"PUT {VERSION.replace('1.0.0', '9.0.0')} HTTP/1.1\r\nHost: x\r\nWhet-Digest: {GOOD.digest}\r\n"
            f"Content-Length: {DEFAULT_LIMITS.total_bytes}\r\nAuthorization: Bearer "
        )
        slow = [socket.create_connection(("127.0.0.1", hub.port), timeout=20) for _ in range(40)]
        try:
            for number, wire in enumerate(slow):  # they promise 64 MiB each and send a little
                token = hub.tokens["ada"] if number % 2 else "whet_guess"
                wire.sendall(f"{head}{token}\r\n\r\n".encode() + b"x" * 10_000)
            assert hub.ask("GET", VERSION).status == 200  # others are served meanwhile
        finally:
            for wire in slow:
                wire.close()
        huge = f"{head}{hub.tokens['ada']}\r\n\r\n".replace(str(DEFAULT_LIMITS.total_bytes), "999999999")
        with socket.create_connection(("127.0.0.1", hub.port), timeout=20) as wire:
            wire.sendall(huge.encode())
            assert b" 413 " in wire.recv(65_536)
        assert memory_of(hub) - before < 64 * 1024
        assert hub.ask("GET", "/api/v1/skills/acme/review").json["versions"] == 1
