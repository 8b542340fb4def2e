"""What every backend promises: the copy and nothing else can be written, and nothing of a program is left."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sources.repositories import running

from runtime.machines import SshHost, UnavailableError, make_container
from runtime.worlds import PATH, World, play, replies
from whet.errors import RefusedError, UsageError
from whet.guard.sandbox.levels import levels
from whet.runtime.backends import Backend, LocalSandbox, Program, open_backend
from whet.runtime.runs import Runs
from whet.runtime.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.sandbox.process import Ran

LEVELS = levels()
KINDS = [*(level.name for level in LEVELS), "docker", "podman", "ssh"]
LATE = [pytest.param(kind, marks=pytest.mark.deep) if kind in ("docker", "podman", "ssh") else kind for kind in KINDS]


@pytest.fixture(params=LATE)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """Each backend that this machine has; the others are skipped, with the reason."""
    kind: str = request.param
    try:
        if kind in ("docker", "podman"):
            with tempfile.TemporaryDirectory(prefix="w", ignore_cleanup_errors=True) as short:  # 50 letters at most
                yield make_container(kind, Path(short))
        elif kind == "ssh":
            host = SshHost(tmp_path_factory.mktemp(kind))
            yield host.backend
            host.close()
        else:
            yield LocalSandbox("/nonexistent", at=next(level for level in LEVELS if level.name == kind))
    except UnavailableError as error:
        pytest.skip(str(error))


class Bench:
    """Runs scripts of a shell in a copy, by one backend."""

    def __init__(self, backend: Backend, top: Path) -> None:
        self.world = World(top)
        (top / "run").mkdir()
        (self.world.home / "secret").write_text("inert\n")
        home, env = str(self.world.home), self.world.env
        remaps = backend.remaps
        self.copy = Workspace.make(str(top / "run"), str(self.world.project), home=home, env=env, remaps=remaps)
        self.backend, self.skill = backend, top / "skill"
        self.skill.mkdir()
        (self.skill / "note.txt").write_text("a note\n")

    def run(self, script: str, *, seconds: float = 30, stop: threading.Event | None = None) -> Ran:
        program = Program(
            ["bash", "-c", script], self.copy.inside, {"PATH": PATH, "GIVEN": "given"}, (str(self.skill),), seconds
        )
        return self.backend.run(program, self.copy, stop or threading.Event())


def test_a_backend_keeps_what_it_promises(backend: Backend, tmp_path: Path) -> None:
    bench = Bench(backend, tmp_path)
    backend.check()
    assert backend.level.sentence and backend.level.gaps
    ran = bench.run("echo out; echo err >&2; exit 3")
    assert (ran.output, ran.errors, ran.code, ran.problem) == ("out", "err", 3, "failed")
    assert bench.run('echo "$PWD $GIVEN"').output == f"{bench.copy.inside} given"
    assert bench.run(f"cat a.txt {bench.skill}/note.txt").output == "one\ntwo\na note"
    assert bench.run("env | grep -c WHET_HOME").output == "0"
    before = bench.world.contents()
    assert bench.run("echo made > made.txt && mkdir d && mv a.txt d/").code == 0
    assert [(one.path, one.change) for one in bench.copy.changes(bench.world.env)] == [
        *(("a.txt", "deleted"), ("d/a.txt", "added"), ("made.txt", "added"))
    ]
    assert bench.world.contents() == before
    assert bench.run("mkdir -p e/f && ln -s /etc/hostname e/f/out && echo kept > e/f/kept; rm -rf e").code == 0
    for script in (
        f"cat {bench.world.home}/secret",
        "exec 3<>/dev/tcp/203.0.113.7/80",
        f"echo x > {bench.skill}/note.txt",
        f"echo x > {bench.world.home}/x",
        f"echo x > {bench.world.state}/x",
    ):
        assert bench.run(script).code
    assert bench.run("git log --oneline | wc -l").output == "1"
    late = bench.run("echo begun; sleep 60", seconds=1)
    assert (late.output, late.code, late.problem) == ("begun", None, "timeout")
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    stopped = bench.run("echo left > left.txt; sleep 47.11", stop=stop)
    assert (stopped.code, stopped.problem) == (None, "stopped")
    assert not running("sleep 47.11")
    backend.leave(bench.copy)


@pytest.mark.skipif(len(LEVELS) < 2, reason="this machine offers one sandbox at most")
def test_a_run_at_the_second_level_sees_the_copy_where_it_lies(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash Read Write WebFetch(domain:api.example.com)")
    model = play(
        [
            ("Bash", {"command": "pwd"}),
            ("Write", {"file_path": f"{world.project}/b.txt", "content": "b\n"}),
            ("Bash", {"command": "cat b.txt"}),
            ("Bash", {"command": "mkfifo pipe"}),
            ("Read", {"file_path": "pipe"}),
            ("Read", {"file_path": "src"}),
        ],
        "Done.",
    )
    second = LocalSandbox("/nonexistent", at=LEVELS[1])
    with world.library() as library:
        runs = Runs(library.workspace, lambda name, given, _: library.render(name, arguments=given), second)
        result = runs.start("worker", model=model)
        said = replies(model)
        assert said[0].endswith(f"/runs/{result.run.id}/project")
        assert said[1:3] == ["Wrote 2 bytes.", "b"]
        assert [text.rpartition(" is ")[2] for text in said[4:]] == ["not a file", "a directory"]
        assert [one.path for one in result.report.files] == ["b.txt"]
        assert result.report.sandbox.gaps[-1].startswith("Programs have no network")
        runs.resume(result.run.id, apply=True)
    assert world.contents()["b.txt"] == "b\n"


def test_a_run_goes_on_another_machine_and_its_changes_come_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash Read Write")
    before = world.contents()
    model = play(
        [
            ("Write", {"file_path": "b.txt", "content": "b\n"}),
            ("Bash", {"command": "cat b.txt && mv b.txt c.txt && git status --short"}),
            ("Read", {"file_path": "c.txt"}),
        ],
        "Done.",
    )
    try:
        host = SshHost(tmp_path / "host")
    except UnavailableError as error:
        pytest.skip(str(error))
    with world.library() as library:
        runs = Runs(library.workspace, lambda name, given, _: library.render(name, arguments=given), host.backend)
        result = runs.start("worker", model=model)
        assert replies(model)[1:] == ["b\n?? c.txt", "     1\tb"]
        assert (result.report.sandbox.level, world.contents()) == ("ssh", before)
        assert [*(tmp_path / "host" / "home").glob("tmp.*")] == []  # nothing is left there
        runs.resume(result.run.id, apply=True)
    host.close()
    assert world.contents() == {**before, "c.txt": "b\n"}


@pytest.mark.parametrize("spec", ["docker:", "docker:-v", "vm:x", "docker", "ssh:-oProxyCommand=x"])
def test_an_unknown_place_is_an_error(spec: str) -> None:
    with pytest.raises(UsageError, match="Programs cannot run on"):
        open_backend(spec, "/nonexistent", {})


def test_a_place_that_cannot_be_used_is_refused_and_nothing_runs_elsewhere(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Read")
    model = play("Done.")
    for spec in ("podman:localhost/whet-no-such-image", "ssh:nobody@127.0.0.1:1"):
        (world.state / "config.toml").write_text(f'run_on = "{spec}"\n')
        with world.library() as library, pytest.raises(RefusedError) as refused:
            library.run("worker", model=model)
        assert refused.value.code == "no-backend"
    assert (model.requests, [*(world.state / "runs").glob("*")]) == ([], [])
