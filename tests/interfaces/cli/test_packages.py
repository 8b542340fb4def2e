"""`whet new`, `pack`, `unpack` and `digest`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_a_new_skill_goes_to_the_persons_own(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("new", "my-skill")
    file = home / ".agents" / "skills" / "my-skill" / "SKILL.md"
    assert (run.returncode, run.stdout) == (0, f"{file}\n")
    assert run.stderr == (
        "my-skill is a draft: fill in each TODO with `whet edit my-skill`.\n"
        "hint: `whet skill validate my-skill` shows what is left to do.\n"
    )
    assert "name: my-skill\n" in file.read_text(encoding="utf-8") and "\n# My skill\n" in file.read_text(
        encoding="utf-8"
    )


def test_a_new_skill_only_waits_to_be_filled_in(whet: Callable[..., CompletedProcess[str]]) -> None:
    whet("new", "my-skill")
    assert whet("skill", "validate", "my-skill").stdout.splitlines()[-1].endswith("/my-skill: valid, but still a draft")
    findings = answer(whet("skill", "validate", "my-skill", "--profile", "quality", "--json"))["results"][0]["findings"]
    assert {finding["code"] for finding in findings} == {"leftover-marker"}
    whet("new", "other", "--description", "Cuts films. Use when a film is too long.")
    for query, names in (("my-skill", ["my-skill"]), ("cut a film", ["other"]), ("zebra", [])):
        found = answer(whet("list", "--query", query, "--json"))["skills"]
        assert [card["name"] for card in found] == names


def test_a_description_is_written_as_it_is_given(whet: Callable[..., CompletedProcess[str]]) -> None:
    description = "Does: \"this\" # and 'that'. Use when 日本."
    assert answer(whet("new", "x", "--description", description, "--json"))["success"] is True
    assert answer(whet("show", "x", "--json"))["description"] == description


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["--dir", "some/where"], "work/some/where/x"),
        (["--root", "r1", "--root", "r2"], "work/r1/x"),
        (["--here"], "work/.agents/skills/x"),
        (["--here", "--project", ".."], ".agents/skills/x"),
    ],
)
def test_where_a_new_skill_goes(
    words: list[str], place: str, tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    assert answer(whet("new", "x", *words, "--json"))["path"] == str(tmp_path / place)
    assert (tmp_path / place / "SKILL.md").is_file()


def test_a_new_skill_with_a_text_goes_there_too(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (tmp_path / "work" / ".git").mkdir()
    text = ("--description", "Does it. Use when it has to be done.", "--body", "Do it.")
    run = whet("new", "x", "--here", *text)
    assert run.stdout == f"{tmp_path}/work/.agents/skills/x\n"
    assert run.stderr.endswith("so Whet does not offer its skills. `whet guard trust` trusts it.\n")
    assert whet("new", "x", "--here", *text).returncode == 1, "it exists"
    assert answer(whet("history", "--json"))["entries"][0]["path"] == f"{tmp_path}/work/.agents/skills/x"


def test_a_new_skill_with_a_text_goes_to_any_directory(
    tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    text = ("--description", "Does it. Use when it has to be done.", "--body", "Do it.", "--no-triggers")
    run = whet("new", "x", "--dir", "some/where", *text)
    made = tmp_path / "work" / "some" / "where" / "x"
    assert (run.returncode, run.stdout) == (0, f"{made}/SKILL.md\n")
    assert run.stderr == "Created x.\nhint: `whet install ./some/where/x` adds it to your skills.\n"
    assert {one.name: one.read_text(encoding="utf-8") for one in made.iterdir()} == {
        "SKILL.md": "---\nname: x\ndescription: Does it. Use when it has to be done.\nmetadata:\n"
        '  version: "1"\n---\n\nDo it.\n'
    }
    assert answer(whet("history", "--json"))["entries"] == []
    assert (
        answer(whet("new", "../Two Words", "--dir", "some/where", *text, "--json"))["path"]
        == f"{made.parent}/two-words"
    )
    again = answer(whet("new", "x", "--dir", "some/where", *text, "--json"))
    assert (again["code"], again["hint"]) == ("skill-exists", "Choose another name. Or choose another directory.")
    assert answer(whet("install", "./some/where/x", "--yes", "--json"))["success"] is True


def test_what_is_missing_for_a_new_skill_is_named(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    asked = (
        (("new",), "NAME is missing.", 'Run `whet new NAME --description "What it does. Use when ..."`.'),
        (
            ("new", "x", "--body", "Do it."),
            "The description is empty.",
            'Add `--description "What it does. Use when ..."`, in at most 1,024 characters.',
        ),
        (("new", "x", "--stage"), "--stage needs --body or --body-file.", "`whet new --help` explains it."),
        (
            ("new", "x", "--dir", "y", "--body", "Do it.", "--stage"),
            "--stage does not work with --dir.",
            "`whet new --help` explains it.",
        ),
    )
    for words, error, hint in asked:
        assert whet(*words).stderr == f"error: {error}\nhint: {hint}\n"
    assert whet("create", "x").stdout == f"{home}/.agents/skills/x/SKILL.md\n", "a template, as `new` writes it"
    again = whet("create", "x").stderr.splitlines()[1:]
    hint = "hint: Choose another name. `whet edit x` changes this skill."
    assert again == [f"error: {home}/.agents/skills/x already exists.", hint]


def test_a_new_skill_with_a_disabled_name_says_so(whet: Callable[..., CompletedProcess[str]]) -> None:
    text = ("--description", "Does it. Use when it has to be done.", "--body", "Do it.")
    for words in (("new", "x"), ("disable", "x"), ("remove", "x", "--yes")):
        assert whet(*words).returncode == 0
    hint = "hint: x is disabled, because you disabled this name before; `whet enable x` enables it.\n"
    assert whet("new", "x").stderr.endswith(hint)
    whet("remove", "x", "--yes")
    assert whet("new", "x", *text).stderr.endswith(hint)
    assert whet("enable", "x").stderr == "x is enabled.\n"


CUTTING = "## User\n\nCut the films of the summer party.\n\n## Tool call: Bash\n\nffmpeg -ss 60 -i party.mp4 a.mp4\n"


@pytest.mark.parametrize(
    "words",
    [
        ("new", "films", "--description", "Cuts films. Use when a film is too long."),
        ("distill", "../session.md", "--yes", "--name", "films"),
    ],
    ids=["template", "outline"],
)
def test_a_template_and_an_outline_are_drafts_until_they_are_finished(
    home: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    whet: Callable[..., CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (home / ".claude").mkdir(exist_ok=True)
    (tmp_path / "session.md").write_text(f"{CUTTING}\n## Result\n\nframe= 900\n", encoding="utf-8")
    assert whet(*words).returncode == 0

    def marks(session: str) -> list[bool]:
        shown, found = whet("show", "films").stdout, whet("find", "cut films").stdout.split("\t")
        decided, index = (
            answer(whet("find", "--decide", "cut films", "--json")),
            answer(whet("prompt", "index", "--json")),
        )
        event = {"session_id": session, "prompt": "cut films", "hook_event_name": "UserPromptSubmit"}
        monkeypatch.setattr("whet.interfaces.hooks.main.read_input", lambda _: json.dumps(event).encode())
        hook = whet("hook", "prompt", "--client", "claude-code").stdout
        return [
            whet("list", "--all").stdout.splitlines()[0].split("\t")[-1] == "draft",
            "ready          no, it is a draft" in shown,
            found[0] == "films" and found[2].startswith("draft; "),
            "fits-but-hidden" in [note["code"] for note in decided["notes"]],
            index["text"] == "",
            "films" not in hook,
            "leftover-marker" in whet("skill", "validate", "films").stdout,
            "draft" in [note["code"] for note in answer(whet("doctor", "--json"))["report"]],
            "draft" in [step["state"] for step in answer(whet("sync", "--dry-run", "--json"))["steps"]],
        ]

    assert marks("one") == [True] * 9
    file = home / ".agents" / "skills" / "films" / "SKILL.md"
    file.write_text(file.read_text(encoding="utf-8").partition("# ")[0] + "Cut it.\n", encoding="utf-8")
    assert marks("two") == [False] * 9


def test_here_means_the_repository(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    (tmp_path / ".git").mkdir()
    run = whet("new", "x", "--here")
    assert run.stdout == f"{tmp_path}/.agents/skills/x/SKILL.md\n"
    assert run.stderr == (
        "x is a draft: fill in each TODO.\n"
        f"hint: `whet skill validate {tmp_path}/.agents/skills/x` shows what is left to do.\n"
        "hint: You do not trust this project yet, so Whet does not offer its skills. `whet guard trust` trusts it.\n"
    )


def test_a_new_skill_overwrites_nothing(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    mine = skill("mine")
    before = (mine / "SKILL.md").read_bytes()
    assert whet("new", "mine").returncode == 1
    assert (mine / "SKILL.md").read_bytes() == before


def test_packing_and_unpacking_change_nothing(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    mine = skill("mine")
    (mine / "scripts").mkdir()
    (mine / "scripts" / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (mine / "scripts" / "run.sh").chmod(0o755)
    (mine / ".hidden").write_text("dot files count\n", encoding="utf-8")
    digest = whet("sources", "digest", "mine").stdout
    packed = whet("skill", "pack", "mine", "-o", str(tmp_path / "out.skill"))
    assert packed.stdout == f"{tmp_path / 'out.skill'}\n"
    assert packed.stderr.startswith("3 files, ") and digest.strip() in packed.stderr
    unpacked = whet("skill", "unpack", str(tmp_path / "out.skill"), "-C", str(tmp_path / "elsewhere"))
    assert unpacked.stdout == f"{tmp_path / 'elsewhere' / 'mine'}\n"
    assert {
        "name": digest,
        "path": whet("sources", "digest", str(mine)).stdout,
        "archive": whet("sources", "digest", str(tmp_path / "out.skill")).stdout,
        "unpacked": whet("sources", "digest", str(tmp_path / "elsewhere" / "mine")).stdout,
    } == dict.fromkeys(("name", "path", "archive", "unpacked"), digest)
    assert (tmp_path / "elsewhere" / "mine" / "scripts" / "run.sh").stat().st_mode & 0o777 == 0o755


def test_the_library_has_a_digest(skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]) -> None:
    first = whet("sources", "digest", "--library").stdout
    mine = skill("mine")
    second = whet("sources", "digest", "--library").stdout
    assert first.startswith("sha256:") and second not in ("", first)
    (mine / "SKILL.md").unlink()
    mine.rmdir()
    assert whet("sources", "digest", "--library").stdout == first


def test_packing_again_replaces_only_the_same_skill(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    mine, _ = skill("mine"), skill("other")
    assert whet("skill", "pack", "mine").returncode == 0
    before = Path("mine.skill").read_bytes()
    (mine / "extra.md").write_text("more\n", encoding="utf-8")
    assert whet("skill", "pack", "mine").returncode == 0
    assert Path("mine.skill").read_bytes() != before
    run = whet("skill", "pack", "other", "-o", "mine.skill")
    assert (run.returncode, run.stderr.splitlines()[0]) == (
        1,
        "error: mine.skill already exists and is not an archive of other.",
    )


def test_a_skill_that_breaks_the_format_is_packed_with_a_warning(
    skill: Callable[..., Path], whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("odd", extra="nonsense: true\n")
    run = whet("skill", "pack", "odd")
    assert run.returncode == 0
    assert "hint: The skill does not follow the format, and strict clients refuse it;" in run.stderr


def test_unpacking_replaces_only_when_told_to(
    skill: Callable[..., Path], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    skill("mine")
    whet("skill", "pack", "mine")
    there = tmp_path / "there"
    old = skill("mine", "Another one.", root=there)
    (old / "kept.md").write_text("old\n", encoding="utf-8")
    refused = whet("skill", "unpack", "mine.skill", "-C", str(there))
    assert (refused.returncode, (old / "kept.md").exists()) == (1, True)
    forced = whet("skill", "unpack", "mine.skill", "-C", str(there), "--force")
    assert (forced.returncode, forced.stderr.endswith("replacing the old one.\n")) == (0, True)
    assert sorted(path.name for path in there.iterdir()) == ["mine"]
    assert sorted(path.name for path in old.iterdir()) == ["SKILL.md"]


def test_a_refused_archive_leaves_nothing(tmp_path: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    import zipfile

    with zipfile.ZipFile("evil.skill", "w") as archive:
        archive.writestr("evil/SKILL.md", "---\nname: evil\n---\n")
        archive.writestr("evil/../../outside.md", "x")
    run = whet("skill", "unpack", "evil.skill", "-C", str(tmp_path / "there"))
    assert (run.returncode, (tmp_path / "there").exists(), (tmp_path / "outside.md").exists()) == (1, False, False)
