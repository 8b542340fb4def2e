"""Repositories and servers that mean harm or are broken, and ends in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from interrupts import interrupt

from sources.repositories import (
    Content,
    Linked,
    Module,
    Repository,
    Served,
    World,
    running,
    serving_git,
    skill,
    wait_until,
)
from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.sources.git import program
from whet.sources.git.remote import Remote
from whet.sources.git.source import GitSource
from whet.sources.model import Ref

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE, TREE = "100644", "40000"
_MIB = 1024 * 1024


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.new(tmp_path / "repository")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving_git(tmp_path) as served:
        yield served


def error_of(world: World, location: str, ref: str = "", path: str = "") -> WhetError:
    source = world.source(location, ref, path)
    with pytest.raises(WhetError) as caught:
        source.inspect()
    assert world.left() == []
    return caught.value


def told(world: World, location: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The directories that are offered, and the codes and places of the notes."""
    listing = world.source(location).inspect()
    return [offer.ref.path for offer in listing.offers], [(note.code, note.path) for note in listing.notes]


BAD_WORDS = ["--upload-pack=touch x", "-x", "a b", "a\nb", "a\0b", "a..b", "a:b", "+a", "a^{}", "a\u202eb", "x" * 2000]


@pytest.mark.parametrize("word", BAD_WORDS)
def test_revisions_that_git_could_misread_are_refused(world: World, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        GitSource(Ref("git", "https://example.com/a/b", word), world.reach)
    assert caught.value.code == "bad-ref"


@pytest.mark.parametrize("path", ["-x", "../a", "a/../b", "/a", "a//b", "a\nb", "a/", ".", "a\\b"])
def test_paths_that_leave_the_repository_are_refused(world: World, path: str) -> None:
    with pytest.raises(UsageError) as caught:
        GitSource(Ref("git", "https://example.com/a/b", "", path), world.reach)
    assert caught.value.code == "bad-ref"


@pytest.mark.parametrize(
    "location",
    ["ext::sh -c x", "git://example.com/a", "ssh://-oProxyCommand=x/a", "/a/path", "https://", "file://a\nb", "-x", ""],
)
def test_other_protocols_are_refused(world: World, location: str) -> None:
    with pytest.raises(UsageError) as caught:
        GitSource(Ref("git", location), world.reach)
    assert caught.value.code == "bad-address"


def test_names_that_reach_out_of_a_package_are_refused(repository: Repository, world: World) -> None:
    text, main = repository.blob(b"text"), repository.blob(skill("a").encode())
    good = repository.tree((FILE, main, b"SKILL.md"))
    up = repository.tree((FILE, text, b"authorized_keys"))
    climbing = repository.tree((TREE, up, b".."), (FILE, main, b"SKILL.md"))
    slash = repository.tree((FILE, main, b"SKILL.md"), (FILE, text, b"../../x"))
    shouting = repository.tree((TREE, up, b".GIT"), (FILE, main, b"SKILL.md"))
    control = repository.tree((FILE, main, b"SKILL.md"), (FILE, text, b"a\nb"))
    bytes_only = repository.tree((FILE, main, b"SKILL.md"), (FILE, text, b"\xff\xfe"))
    device = repository.tree((FILE, main, b"SKILL.md"), (FILE, text, b"con.txt"))
    bad = [(b"bytes", bytes_only), (b"climbing", climbing), (b"control", control), (b"device", device)]
    bad += [(b"shouting", shouting), (b"slash", slash)]
    entries = sorted([*bad, (b"good", good)])
    repository.commit_tree(repository.tree(*((TREE, oid, name) for name, oid in entries)))
    assert told(world, repository.url) == (["good"], [("archive-unsafe-path", name.decode()) for name, _ in bad])


def test_directories_with_impossible_names_are_refused(repository: Repository, world: World) -> None:
    main = repository.blob(skill("a").encode())
    inner = repository.tree((FILE, main, b"SKILL.md"))
    names = (b"..", b"a\nb", b"good", b"\xff")
    root = repository.tree(*((TREE, inner, name) for name in names), (FILE, main, b"pretended/skill/SKILL.md"))
    repository.commit_tree(root)
    refused = [("archive-unsafe-path", path) for path in ("..", r"a\nb", "pretended/skill", r"\udcff")]
    assert told(world, repository.url) == (["good"], refused)


def test_the_same_path_twice_is_refused(repository: Repository, world: World) -> None:
    main, text = repository.blob(skill("a").encode()), repository.blob(b"other")
    twice = repository.tree((FILE, main, b"SKILL.md"), (FILE, text, b"a.md"), (FILE, main, b"a.md"))
    folded = repository.tree((FILE, text, b"A.md"), (FILE, main, b"SKILL.md"), (FILE, main, b"a.md"))
    good = repository.tree((FILE, main, b"SKILL.md"))
    repository.commit_tree(repository.tree((TREE, folded, b"folded"), (TREE, good, b"good"), (TREE, twice, b"twice")))
    assert told(world, repository.url) == (
        ["good"],
        [("archive-collision", "folded"), ("archive-collision", "twice")],
    )


def test_two_directories_of_one_name_are_refused(repository: Repository, world: World) -> None:
    main, text = repository.blob(skill("a").encode()), repository.blob(b"other")
    one, two = repository.tree((FILE, main, b"SKILL.md")), repository.tree((FILE, text, b"b.md"))
    repository.commit_tree(repository.tree((TREE, one, b"a"), (TREE, two, b"a")))
    assert error_of(world, repository.url).code == "archive-collision"


def test_links_out_of_a_package_are_refused(repository: Repository, world: World) -> None:
    files: dict[str, Content] = {
        "absolute/SKILL.md": skill("absolute"),
        "absolute/key": Linked("/etc/passwd"),
        "good/SKILL.md": skill("good"),
        "main/SKILL.md": Linked("../good/SKILL.md"),
        "up/SKILL.md": skill("up"),
        "up/key": Linked("../../.ssh/id_rsa"),
    }
    repository.commit(files)
    assert told(world, repository.url) == (
        ["good"],
        [("link-escape", "absolute"), ("link-escape", "main"), ("link-escape", "up")],
    )


def test_links_that_lead_in_circles_or_away_are_no_skills(repository: Repository, world: World) -> None:
    files: dict[str, Content] = {
        "a": Linked("b"),
        "b": Linked("a"),
        "away": Linked("../../outside"),
        "root": Linked("/"),
        "good/SKILL.md": skill("good"),
    }
    repository.commit(files)
    assert told(world, repository.url) == (["good"], [])
    assert world.source(repository.url).inspect(["a"]).offers[0].name == "good"


@pytest.mark.parametrize("path", ["a", "away/x", "root"])
def test_a_path_through_a_link_that_leads_away(repository: Repository, world: World, path: str) -> None:
    repository.commit({"a": Linked("a"), "away": Linked("../.."), "root": Linked("/etc"), "s/SKILL.md": skill("s")})
    assert error_of(world, repository.url, path=path).code == "no-such-path"


def test_a_submodule_in_a_package_is_refused(repository: Repository, world: World) -> None:
    repository.commit({"a/SKILL.md": skill("a"), "a/kit": Module(), "b/SKILL.md": skill("b")})
    assert told(world, repository.url) == (["b"], [("submodule", "a")])


def test_a_package_of_a_hundred_thousand_files_is_refused(repository: Repository, world: World) -> None:
    main, text = repository.blob(skill("a").encode()), repository.blob(b"text")
    many = repository.tree((FILE, main, b"SKILL.md"), *((FILE, text, b"f%06d" % number) for number in range(100_000)))
    good = repository.tree((FILE, main, b"SKILL.md"))
    repository.commit_tree(repository.tree((TREE, good, b"good"), (TREE, many, b"many")))
    assert told(world, repository.url) == (["good"], [("archive-too-many-files", "many")])


def test_a_tree_that_unfolds_without_end_is_refused(repository: Repository, world: World) -> None:
    tree = repository.tree((FILE, repository.blob(b"x"), b"SKILL.md"))
    for _ in range(12):
        tree = repository.tree(*((TREE, tree, b"%02d" % number) for number in range(20)))
    repository.commit_tree(tree)
    error = error_of(world, repository.url)
    assert (type(error), error.code) == (InvalidError, "source-too-large")


@pytest.mark.parametrize("filters", [True, False])
def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path: Path, world: World, filters: bool) -> None:
    repository = Repository.new(tmp_path / "bomb", filters=filters)
    repository.commit({"a/SKILL.md": skill("a"), "a/zeros": bytes(24 * _MIB), "b/SKILL.md": skill("b")})
    assert told(world, repository.url) == (["b"], [("archive-too-large", "a")])


def test_many_packages_that_are_too_much_together_are_refused(repository: Repository, world: World) -> None:
    main, zeros = repository.blob(skill("a").encode()), repository.blob(bytes(15 * _MIB))
    package = repository.tree((FILE, main, b"SKILL.md"), (FILE, zeros, b"zeros"))
    repository.commit_tree(repository.tree(*((TREE, package, b"s%02d" % number) for number in range(20))))
    source = world.source(repository.url)
    listing = source.inspect()
    assert len(source.fetch(listing.offers[:2])) == 2
    with pytest.raises(InvalidError) as caught:
        source.fetch(listing.offers)
    assert (caught.value.code, len(source.fetch(listing.offers[2:3]))) == ("source-too-large", 1)


def test_a_repository_larger_than_the_limit_is_refused(repository: Repository, world: World) -> None:
    repository.commit({"a/SKILL.md": skill("a"), "a/data": os.urandom(2 * _MIB)})
    remote = Remote(repository.url, world.reach, size=_MIB)
    try:
        remote.start()
        with pytest.raises(InvalidError) as caught:
            remote.fetch(["+HEAD:refs/whet/asked"])
    finally:
        remote.close()
    assert (caught.value.code, running(str(world.state)), world.left()) == ("source-too-large", [], [])


def test_broken_objects_are_failures(repository: Repository, world: World) -> None:
    repository.commit_tree("1" * 40)
    assert error_of(world, repository.url).code in ("git-failed", "response-cut-off")
    broken = repository.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", feed=b"100644 no end")
    repository.commit_tree(broken)
    assert error_of(world, repository.url).code in ("git-failed", "response-cut-off")


def test_redirects_are_followed_once_checked(repository: Repository, world: World, server: Served) -> None:
    repository.commit({"a/SKILL.md": skill("a")})
    server.moved = {"renamed": "again", "again": "repository"}
    source = world.source(f"{server.url}/renamed")
    listing = source.inspect()
    assert [offer.ref.location for offer in listing.offers] == [f"{server.url}/renamed"]
    assert len(source.fetch(listing.offers)) == 1


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("https://localhost:1/x", "private-address"),
        ("https://169.254.169.254/latest", "private-address"),
        ("http://example.com/x", "not-https"),
        ("b", "too-many-redirects"),
    ],
)
def test_redirects_to_elsewhere_are_refused(world: World, server: Served, target: str, code: str) -> None:
    server.moved = {"a": target, "b": "a"}
    error = error_of(world, f"{server.url}/a")
    assert (type(error), error.code) == (RefusedError, code)


def test_redirects_to_something_else_than_a_repository_are_refused(world: World, server: Served) -> None:
    server.moved = {"a": f"{server.url}/login?from="}
    assert error_of(world, f"{server.url}/a").code in ("source-denied", "source-not-found")


def test_private_addresses_are_refused_before_git_runs(tmp_path: Path, server: Served) -> None:
    with World(tmp_path, private=()) as world:
        for location in ("https://127.0.0.1/a", "https://10.0.0.1/a", "https://localhost/a"):
            assert error_of(world, location).code == "private-address"
        assert error_of(world, server.url).code == "not-https"
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        ("404", NotFoundError, "source-not-found"),
        ("403", RefusedError, "source-denied"),
        ("429", FailedError, "rate-limited"),
        ("503", FailedError, "server-failed"),
    ],
)
def test_what_servers_answer(world: World, server: Served, status: str, kind: type[WhetError], code: str) -> None:
    server.behaviour = {"a": status}
    error = error_of(world, f"{server.url}/a")
    assert (type(error), error.code) == (kind, code)


def test_places_without_a_repository(tmp_path: Path, world: World, server: Served) -> None:
    assert error_of(world, (tmp_path / "nowhere").as_uri()).code == "source-not-found"
    assert error_of(world, f"{server.url}/nowhere").code == "source-not-found"
    assert error_of(world, "http://127.0.0.1:9/a").code == "unreachable"


def test_a_private_repository_without_credentials(repository: Repository, world: World, server: Served) -> None:
    repository.commit({"a/SKILL.md": skill("a")})
    server.password = "opensesame"
    assert error_of(world, f"{server.url}/repository").code == "source-not-found"
    helper = "!f() { echo username=user; echo password=wrong-secret; }; f"
    (world.home / ".gitconfig").write_text(f'[credential]\n\thelper = "{helper}"\n')
    denied = error_of(world, f"{server.url}/repository")
    assert (denied.code, "secret" in str(denied.to_json())) == ("source-denied", False)


def test_credential_helpers_of_the_user_are_asked(repository: Repository, world: World, server: Served) -> None:
    repository.commit({"a/SKILL.md": skill("a")})
    server.password = "opensesame"
    helper = "!f() { echo username=user; echo password=opensesame; }; f"
    (world.home / ".gitconfig").write_text(f'[credential]\n\thelper = "{helper}"\n')
    assert len(world.source(f"{server.url}/repository").inspect().offers) == 1


def test_nothing_else_of_the_users_configuration_counts(
    tmp_path: Path, repository: Repository, world: World, server: Served
) -> None:
    repository.commit({"a/SKILL.md": skill("a")})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    hook = hooks / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (world.home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {hook}\n[init]\n\ttemplateDir = {hooks}\n"
        f'[url "file:///nowhere/"]\n\tinsteadOf = {server.url}/\n[fetch]\n\tfsckObjects = true\n'
        f"[protocol]\n\tversion = 0\n[http]\n\tfollowRedirects = true\n"
    )
    source = world.source(f"{server.url}/repository", path="a")
    assert len(source.fetch(source.inspect().offers)) == 1
    assert not (tmp_path / "ran").exists()


def test_a_broken_configuration_of_the_user_is_said(repository: Repository, world: World) -> None:
    repository.commit({"a/SKILL.md": skill("a")})
    (world.home / ".gitconfig").write_text("[core\n")
    error = error_of(world, repository.url)
    assert (error.code, ".gitconfig" in error.message) == ("git-failed", True)


def test_a_server_that_never_answers_is_given_up(tmp_path: Path, server: Served) -> None:
    server.behaviour = {"a": "hang"}
    with World(tmp_path, timeout=0.5, total=30) as world:
        assert error_of(world, f"{server.url}/a").code == "too-slow"
        assert running(server.url) == []


def test_a_server_that_sends_drop_by_drop_is_given_up(tmp_path: Path, repository: Repository, server: Served) -> None:
    repository.commit({"a/SKILL.md": skill("a"), "a/data": os.urandom(10_000)})
    server.behaviour = {"repository": "drip"}
    with World(tmp_path, timeout=20, total=1.5) as world:
        assert error_of(world, f"{server.url}/repository").code == "too-slow"
        assert running(server.url) == []


def test_a_connection_that_breaks_off(repository: Repository, world: World, server: Served) -> None:
    repository.commit({"a/SKILL.md": skill("a"), "a/data": os.urandom(100_000)})
    server.behaviour = {"repository": "cut"}
    assert error_of(world, f"{server.url}/repository").code == "response-cut-off"


def test_cancelling_leaves_no_files_and_no_processes(world: World, server: Served) -> None:
    server.behaviour = {"a": "hang"}
    source = world.source(f"{server.url}/a")
    caught: list[WhetError] = []

    def work() -> None:
        try:
            source.inspect()
        except WhetError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: server.requests)
    assert (len(world.left()), bool(running(server.url))) == (1, True)
    world.reach.cancelled.set()
    thread.join(20)
    assert ([error.code for error in caught], world.left(), running(server.url)) == (["cancelled"], [], [])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_at_any_moment_ends_git(tmp_path: Path, *, quick: bool) -> None:
    sleep, env = f"600.{os.getpid()}", {"PATH": os.environ["PATH"]}
    watch = program.Watch(threading.Event(), str(tmp_path), 1 << 20, total=60.0)
    run = partial(program.run_git, ["sleep", sleep], env=env, watch=watch, read=program.up_to(1))
    places = {interrupt(run, program, moment) for moment in range(1, 600, 23 if quick else 1)}
    assert running(sleep) == []
    assert {"_execute_child", "_wait"} <= places


_KILLED = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from sources.repositories import World
World(Path(sys.argv[1])).source(sys.argv[2]).inspect()
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(
    tmp_path: Path, repository: Repository, world: World, server: Served
) -> None:
    repository.commit({"a/SKILL.md": skill("a")})
    server.behaviour = {"hanging": "hang"}
    tests = os.path.dirname(os.path.dirname(__file__))
    call = [sys.executable, "-c", _KILLED, str(tmp_path), f"{server.url}/hanging", tests]
    process = subprocess.Popen(call, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: server.requests)
        (theirs,) = world.left()
        with World(tmp_path) as other:
            other.source(repository.url).inspect()
            assert (len(world.left()), theirs in world.left()) == (2, True)
        assert world.left() == [theirs]
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    server.ended.set()
    source = world.source(repository.url)
    source.inspect()
    assert (len(world.left()), theirs in world.left()) == (1, False)
    source.close()
    assert world.left() == []


def test_no_git_and_an_old_git_are_said(tmp_path: Path, repository: Repository, world: World) -> None:
    world.env["PATH"] = str(tmp_path)
    assert error_of(world, repository.url).code == "no-git"
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\necho git version 2.20.1\n")
    program.chmod(0o755)
    error = error_of(world, repository.url)
    assert (type(error), error.code) == (FailedError, "git-too-old")


@pytest.mark.parametrize("version", ["2.25.1", "2.30.2"])
def test_an_older_git_fetches_too(
    tmp_path: Path, repository: Repository, world: World, server: Served, version: str
) -> None:
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo git version {version} && exit\nexec {real} "$@"\n')
    program.chmod(0o755)
    world.env["PATH"] = f"{program.parent}:{world.env['PATH']}"
    (world.home / ".gitconfig").write_text(f'[url "file:///nowhere/"]\n\tinsteadOf = {server.url}/\n')
    commit = repository.commit({"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
    source = world.source(f"{server.url}/repository", path="a")
    listing = source.inspect()
    assert (listing.revision, [item.offer.name for item in source.fetch(listing.offers)]) == (commit, ["a"])
