"""Servers that break off, crawl, lie, flood and lead astray: a clear refusal, and everything as it was before."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import pytest
from sources.loopback import (
    Route,
    answer,
    certificate_file,
    chunked,
    dripping,
    endless,
    excessive,
    gzip_bomb,
    hang,
    header_flood,
    redirect,
    reset,
    serving,
    stall,
    truncated,
    verbatim,
)
from sources.reaching import dumped
from sources.repositories import Repository, Served, serving_git, skill
from tiers import thinned

from journeys.hostile_world import KINDS, NEW, SCHEMA, Machine, Run, children, machine_at, staged
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROCESSES = False

PAGE = b"<!doctype html><html><body>Sign in</body></html>"


class Bad(NamedTuple):
    """One thing that a server does, and what a command says to it."""

    how: Callable[[bytes], bytes | Route]
    exit: int
    code: str


def page(_: bytes) -> Route:
    return answer(PAGE, content_type="text/html")


def other(data: bytes) -> bytes:
    """As long as what was promised, and something else."""
    return b"\xff\0!" + data[3:]


@cache
def bomb() -> Route:
    """More than any archive may have, in 70 kB."""
    return gzip_bomb(70_000_000)


BAD = {
    "breaks off": Bad(lambda data: Route(body=data[:-9], length=str(len(data)), after="close"), 4, "response-cut-off"),
    "misses a byte": Bad(truncated, 4, "response-cut-off"),
    "sends more": Bad(excessive, 4, "response-cut-off"),
    "breaks off a chunk": Bad(lambda data: chunked(data[:9], end=b""), 4, "response-cut-off"),
    "resets at once": Bad(lambda _: reset(), 4, "unreachable"),
    "resets in the middle": Bad(lambda data: reset(data[:5], len(data)), 4, "response-cut-off"),
    "never ends": Bad(lambda _: endless(), 1, "response-too-large"),
    "floods headers": Bad(lambda _: header_flood(), 1, "response-too-large"),
    "packs a bomb": Bad(lambda _: bomb(), 1, "response-too-large"),
    "goes round": Bad(lambda _: redirect("/round"), 3, "too-many-redirects"),
    "leads to metadata": Bad(lambda _: redirect("https://169.254.169.254/latest/meta-data"), 3, "private-address"),
    "leads to a private network": Bad(lambda _: redirect("https://10.0.0.1/"), 3, "private-address"),
    "leads to this machine": Bad(lambda _: redirect("https://[::1]/"), 3, "private-address"),
    "leads to localhost": Bad(lambda _: redirect("https://localhost/"), 3, "private-address"),
    "leads to another port": Bad(lambda _: redirect("https://127.0.0.1:9/"), 3, "private-address"),
    "leads away from https": Bad(lambda _: redirect("http://skills.example/"), 3, "not-https"),
    "leads to a file": Bad(lambda _: redirect("file:///etc/passwd"), 1, "bad-response"),
    "is no HTTP": Bad(lambda _: verbatim(b"\0\1\2\r\n\r\n"), 1, "bad-response"),
    "makes no sense": Bad(lambda _: answer(b"", 418), 1, "bad-response"),
    "knows nothing": Bad(lambda _: answer(b"", 404), 1, "source-not-found"),
    "asks who it is": Bad(lambda _: answer(b"", 401), 3, "source-denied"),
    "forbids it": Bad(lambda _: answer(b"", 403), 3, "source-denied"),
    "has enough": Bad(lambda _: answer(b"", 429), 4, "rate-limited"),
    "fails": Bad(lambda _: answer(b"", 500), 4, "server-failed"),
    "shows a page": Bad(page, 1, "not-a-skill"),
    "sends nothing": Bad(lambda _: b"", 1, "not-a-skill"),
    "sends something else": Bad(other, 1, "not-a-skill"),
}
ODD = ("shows a page", "sends nothing", "sends something else")
"""What is refused by what it holds."""
UNREADABLE = {
    "archive": {"sends nothing": "archive-not-readable", "sends something else": "archive-not-readable"},
    "claw archive": dict.fromkeys(ODD, "archive-not-readable"),
    **dict.fromkeys(("index", "claw", "hub"), dict.fromkeys(ODD, "bad-response")),
}


def expected(kind: str, bad: str) -> tuple[int, str]:
    """Exit code and code of what a kind of server does."""
    _, exit_code, code = BAD[bad]
    code = UNREADABLE.get(kind, {}).get(bad, code)
    if KINDS[kind].hashed and bad in ODD:
        code = "digest-mismatch"
    if kind == "hub archive" and bad == "misses a byte":
        return 1, "response-too-large"  # a hub says how many bytes an archive has, and this would be one more
    return exit_code, code


EVERYTHING = ("main file", "indexed archive", "claw", "hub archive")
"""These are played all parts; the others those that end differently."""
PARTS = ("breaks off", "goes round", "leads to this machine", "knows nothing", "forbids it", "fails", *ODD)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Shared by all, because nothing here changes anything on it."""
    return machine_at(tmp_path_factory.mktemp("hostile").resolve())


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second try comes at once, and what people would wait minutes for ends soon."""
    assert Web.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Web.__init__.__kwdefaults__, "pause", lambda _: None)
    monkeypatch.setitem(Web.__init__.__kwdefaults__, "total", 20.0)


def check_refused(run: Run) -> None:
    """One JSON document with a sentence and a hint, and nothing else."""
    told = run.answer
    assert (told["success"], run.err) == (False, "")
    assert told["error"].endswith(".") and "\n" not in told["error"] and len(told["error"]) < 600
    assert told["hint"]


@pytest.mark.parametrize(
    ("kind", "bad"),
    thinned([each for each in product(KINDS, BAD) if each[0] in EVERYTHING or each[1] in PARTS], 4),
)
def test_a_bad_server_is_refused_and_nothing_has_changed(machine: Machine, kind: str, bad: str) -> None:
    before = machine.digest()
    with staged(KINDS[kind]) as stage:
        machine.allow(stage.server.host)
        stage.play(1, BAD[bad].how)
        run = machine.run("install", stage.source, "--json")
    assert (run.code, run.answer.get("code")) == expected(kind, bad)
    check_refused(run)
    assert machine.digest() == before
    assert machine.left() == []


@pytest.mark.parametrize("bad", thinned(BAD, 3))
def test_a_person_reads_one_line_and_what_to_do(machine: Machine, bad: str) -> None:
    with staged(KINDS["archive"]) as stage:
        machine.allow(stage.server.host)
        stage.play(1, BAD[bad].how)
        run = machine.run("install", stage.source)
    first, second, *rest = run.err.splitlines()
    assert (run.code, run.out, rest) == (expected("archive", bad)[0], "", [])
    assert first.startswith("error: ") and second.startswith("hint: ")


SLOW = {
    "drips": lambda data: dripping(data * 99, 0.05),
    "stops in the middle": lambda data: stall(data[:9]),
    "hangs before the head": lambda _: hang(),
}
HURRIED = "from whet.sources.web.client import Web; Web.__init__.__kwdefaults__['total'] = 2.0"
"""People wait for five minutes."""


def test_slow_servers_are_given_up(machine: Machine, *, quick: bool) -> None:
    """All of them at once, each a process."""
    before = machine.digest()
    kinds = ("main file", "index", "indexed archive", "loose files", "claw", "hub archive")
    with ExitStack() as stack:
        runs = {}
        for kind, bad in product(kinds[:1] if quick else kinds, SLOW):
            stage = stack.enter_context(staged(KINDS[kind]))
            stage.play(1, SLOW[bad])
            runs[kind, bad] = stage
        machine.allow(*(stage.server.host for stage in runs.values()))
        words = ("install", "--json")
        started = {what: machine.start(*words, stage.source, before=HURRIED) for what, stage in runs.items()}
        told = {what: (*process.communicate(), process.returncode) for what, process in started.items()}
    for what, (out, err, code) in told.items():
        run = Run(code, out, err)
        # More than a hub promised is refused before it could drip.
        refused = (1, "response-too-large") if what == ("hub archive", "drips") else (4, "too-slow")
        assert (what, run.code, run.answer["code"]) == (what, *refused)
        check_refused(run)
    assert machine.digest() == before
    assert machine.left() == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_server_is_believed(tmp_path: Path, kind: str) -> None:
    """Without this, all of the above would prove nothing."""
    machine = machine_at(tmp_path.resolve())
    with staged(KINDS[kind]) as stage:
        machine.allow(stage.server.host)
        assert machine.run("install", stage.source).code == 0
    assert (machine.root / "review" / "SKILL.md").is_file()
    machine.check_whole()


# addresses


@pytest.mark.parametrize("kind", KINDS)
def test_this_machine_is_not_asked_unless_it_is_named(machine: Machine, kind: str) -> None:
    before = machine.digest()
    with staged(KINDS[kind]) as stage, serving({}) as another:
        machine.allow(another.host)
        for source in (stage.source, stage.source.replace("http://", "https://")):
            run = machine.run("install", source, "--json")
            assert run.code == 3
            assert run.answer["code"] == ("private-address" if "https" in source else "not-https")
            check_refused(run)
        assert (stage.server.requests, stage.server.connections) == ([], 0)
    assert machine.digest() == before


@pytest.mark.parametrize("kind", thinned(KINDS, 3))
def test_a_certificate_that_nobody_vouches_for_is_refused(machine: Machine, kind: str) -> None:
    before = machine.digest()
    with staged(KINDS[kind], tls=True) as stage:
        machine.allow(stage.server.host)
        run = machine.run("install", stage.source, "--json")
        assert stage.server.requests == []
    assert (run.code, run.answer["code"]) == (4, "unreachable")
    assert "certificate" in run.answer["error"]
    check_refused(run)
    assert machine.digest() == before


@pytest.mark.parametrize("kind", thinned(KINDS, 3))
def test_nobody_is_led_away_from_https(machine: Machine, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.digest()
    with staged(KINDS[kind], tls=True) as stage, serving({}) as plain, certificate_file() as certificate:
        monkeypatch.setitem(machine.env, "SSL_CERT_FILE", certificate)
        machine.allow(stage.server.host)
        stage.play(1, lambda _: redirect(f"{plain.url}/elsewhere"))
        run = machine.run("install", stage.source, "--json")
        assert (run.code, run.answer["code"]) == (3, "not-https")
        check_refused(run)
        assert plain.requests == []
    assert machine.digest() == before


# what changes, and what is too much


CHANGED = {
    "indexed main file": "digest-mismatch",
    "indexed archive": "digest-mismatch",
    "hub archive": "digest-mismatch",
}


@pytest.mark.parametrize("kind", CHANGED)
def test_what_changes_between_looking_and_fetching_is_refused(machine: Machine, kind: str) -> None:
    """The index, or the version, tells of the first edition, and the second one comes."""
    before = machine.digest()
    with staged(KINDS[kind]) as stage:
        machine.allow(stage.server.host)
        later = KINDS[kind].routes(2)[KINDS[kind].at(2)]
        stage.play(1, lambda _: later)
        run = machine.run("install", stage.source, "--json")
    assert (run.code, run.answer["code"]) == (1, CHANGED[kind])
    check_refused(run)
    assert machine.digest() == before


def entries(*, whole: bool) -> bytes:
    """An index of 100,000 skills: with everything, which is too large; with names only, which is no index."""
    more = {"type": "skill-md", "description": "R.", "url": "r", "digest": f"sha256:{'a' * 64}"} if whole else {}
    return dumped({"$schema": SCHEMA, "skills": [{"name": f"s{number}", **more} for number in range(100_000)]})


@pytest.mark.parametrize(
    ("whole", "code"), [(True, "response-too-large"), (False, "index-entry-wrong")], ids=["whole", "names"]
)
def test_an_index_without_measure_is_refused(machine: Machine, whole: bool, code: str) -> None:
    before = machine.digest()
    with serving({NEW: entries(whole=whole)}) as server:
        machine.allow(server.host)
        run = machine.run("install", f"well-known:{server.url}", "--skill", "s1", "--json")
        assert (run.code, run.answer["code"]) == (1, code)
        check_refused(run)
    assert machine.digest() == before


# what is installed already


DIFFERENT = ("main file", "indexed archive", "loose files", "claw archive", "hub archive")
BROKEN = ("breaks off", "goes round", "leads to a private network", "knows nothing", "fails", "sends something else")


@pytest.mark.parametrize("kind", DIFFERENT)
def test_an_update_from_a_bad_server_leaves_the_skill_and_others_as_they_are(tmp_path: Path, kind: str) -> None:
    machine = machine_at(tmp_path.resolve())
    with staged(KINDS[kind]) as stage:
        machine.allow(stage.server.host)
        assert machine.run("install", stage.source).code == 0
        before = machine.digest()
        for bad in BROKEN:
            stage.play(2, BAD[bad].how)
            run = machine.run("update", "--json")
            assert (bad, run.code > 0, run.codes) == (bad, True, {"review": expected(kind, bad)[1]})
            assert machine.digest() == before
        stage.play(2)
        assert machine.run("update").code == 0
    assert machine.digest() != before
    machine.check_whole()


@pytest.mark.parametrize("kind", DIFFERENT)
def test_a_library_is_restored_from_its_lock_or_not_at_all(tmp_path: Path, kind: str) -> None:
    """On another machine, which has nothing but the lock."""
    machine, elsewhere = machine_at(tmp_path.resolve() / "one"), Machine(tmp_path.resolve() / "two")
    with staged(KINDS[kind]) as stage:
        machine.allow(stage.server.host)
        elsewhere.allow(stage.server.host)
        assert machine.run("install", stage.source).code == 0
        elsewhere.root.mkdir(parents=True)
        elsewhere.lock.write_bytes(machine.lock.read_bytes())
        before = elsewhere.digest()
        for bad in BROKEN:
            stage.play(1, BAD[bad].how)
            run = elsewhere.run("restore", "review", "--json")
            # A lock knows the hash of what was at an address.
            code = "digest-mismatch" if kind == "main file" and bad in ODD else expected(kind, bad)[1]
            assert (bad, run.code > 0, run.codes) == (bad, True, {"review": code})
            assert elsewhere.digest() == before
        stage.play(1)
        assert elsewhere.run("restore").code == 0
    assert elsewhere.lock.read_bytes() == machine.lock.read_bytes()
    elsewhere.check_whole()


# git


@pytest.fixture
def repository(machine: Machine, tmp_path: Path) -> Iterator[Served]:
    """A repository with a skill, served."""
    Repository.new(tmp_path / "skills").commit({"review/SKILL.md": skill("review")})
    with serving_git(tmp_path) as server:
        machine.allow(server.url.removeprefix("http://"))
        yield server


GIT = {
    "404": (1, "source-not-found"),
    "403": (3, "source-denied"),
    "429": (4, "rate-limited"),
    "500": (4, "server-failed"),
    "cut": (4, "response-cut-off"),
    "hang": (4, "too-slow"),
    "drip": (4, "too-slow"),
}


@pytest.mark.parametrize("how", GIT)
def test_a_bad_repository_is_refused(
    machine: Machine, repository: Served, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Web.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Web.__init__.__kwdefaults__, "total", 1.5)
    before = machine.digest()
    repository.behaviour["skills"] = how
    run = machine.run("install", f"git:{repository.url}/skills", "--json")
    assert (run.code, run.answer["code"]) == GIT[how]
    check_refused(run)
    assert (machine.digest(), machine.left(), children()) == (before, [], [])


LEADS = {
    "skills": "too-many-redirects",
    "http://169.254.169.254": "not-https",
    "https://10.0.0.1": "private-address",
    "https://[::1]": "private-address",
    "https://localhost": "private-address",
}


@pytest.mark.parametrize("to", LEADS)
def test_a_repository_that_leads_astray_is_refused(machine: Machine, repository: Served, to: str) -> None:
    before = machine.digest()
    repository.moved["skills"] = to
    run = machine.run("install", f"git:{repository.url}/skills", "--json")
    assert (run.code, run.answer["code"]) == (3, LEADS[to])
    check_refused(run)
    assert (machine.digest(), machine.left(), children()) == (before, [], [])


def test_a_repository_on_this_machine_is_not_asked_unless_it_is_named(machine: Machine, repository: Served) -> None:
    machine.allow()
    for source, code in ((repository.url, "not-https"), (repository.url.replace("http", "https"), "private-address")):
        run = machine.run("install", f"git:{source}/skills", "--json")
        assert (run.code, run.answer["code"]) == (3, code)
    assert repository.requests == []


ADVERTISED = "application/x-git-upload-pack-advertisement"
GARBAGE: dict[str, tuple[bytes | Route, int, tuple[str, ...]]] = {
    "no repository": (page(b""), 1, ("no-skills-found",)),
    "no lines": (answer(b"zzzz no line of git", content_type=ADVERTISED), 4, ("git-failed",)),
    "no end": (endless(), 4, ("git-failed", "too-slow")),  # by its size, or by its time on a slow machine
    "too many headers": (header_flood(), 4, ("git-failed",)),
    "no answer": (reset(), 4, ("response-cut-off",)),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_what_is_no_repository_is_refused(machine: Machine, what: str) -> None:
    before = machine.digest()
    route, exit_code, codes = GARBAGE[what]
    with serving({"/skills/info/refs": route}) as server:
        machine.allow(server.host)
        run = machine.run("install", f"git:{server.url}/skills", "--json")
    assert run.code == exit_code
    assert run.answer["code"] in codes
    check_refused(run)
    assert (machine.digest(), machine.left(), children()) == (before, [], [])


def test_an_update_from_a_bad_repository_leaves_everything_as_it_is(tmp_path: Path) -> None:
    machine = machine_at(tmp_path.resolve() / "machine")
    repository = Repository.new(tmp_path / "skills")
    repository.commit({"review/SKILL.md": skill("review")})
    with serving_git(tmp_path) as server:
        machine.allow(server.url.removeprefix("http://"))
        assert machine.run("install", f"git:{server.url}/skills").code == 0
        repository.commit({"review/SKILL.md": skill("review", body="Newer.")})
        before = machine.digest()
        for how in ("404", "500", "cut"):
            server.behaviour["skills"] = how
            run = machine.run("update", "--json")
            assert (how, run.code > 0, run.codes) == (how, True, {"review": GIT[how][1]})
            assert (machine.digest(), machine.left(), children()) == (before, [], [])
        server.behaviour.clear()
        assert machine.run("update").code == 0
    machine.check_whole()
