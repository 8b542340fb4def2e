"""Skills as other systems write them, in full: what Whet makes of each, through the command line."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

FIXTURES = Path(__file__).parents[1] / "skill" / "fixtures"


def document(run: CompletedProcess[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def test_a_package_with_skill_json(home: Path, work: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    root = home / ".agents" / "skills"
    root.mkdir(parents=True)
    place = root / "package"
    shutil.copytree(FIXTURES / "package", place)
    check = ("skill", "validate", str(place), "--profile", "package", "--json")
    fits = ("--host", "hermes=0.8.1", "--tool", "web_search")

    [found] = document(whet("skill", "validate", str(place), "--json"))["results"]
    severities = {finding["severity"]: finding["code"] for finding in found["findings"]}
    assert severities == {"warning": "dialect-key", "error": "unknown-key"}
    [fixed] = document(whet("skill", "validate", str(place), "--fix", "--json"))["results"]
    assert (fixed["valid"], fixed["findings"], len(fixed["fixed"])) == (True, [], 7)
    [whole] = document(whet(*check, *fits))["results"]
    assert (whole["valid"], whole["findings"]) == (True, [])
    for options, code in (
        (("--host", "hermes=2.0"), "package-range-unmet"),
        (("--tool", "saw"), "package-tool-missing"),
    ):
        run = whet(*check, *fits[:2], *fits[2:] * (options[0] == "--host"), *options)
        assert (run.returncode, [finding["code"] for finding in document(run)["results"][0]["findings"]]) == (1, [code])

    shown = document(whet("show", "package", "--json"))
    assert {key: shown[key] for key in ("id", "version", "author", "homepage", "entry_point", "runtime", "tags")} == {
        "id": "felt-hammer/transpose",
        "version": "2.1.0",
        "author": "Felt & Hammer",
        "homepage": "https://transpose.invalid",
        "entry_point": "SKILL.md",
        "runtime": {"hermes_version": ">=0.5.0,<2", "whet_version": ">=0.1"},
        "tags": ["music", "notation"],
    }
    text = whet("show", "package").stdout
    for line in ("needs tools", "score_reader, web_search", "runs in", "hermes >=0.5.0,<2", "felt-hammer/transpose"):
        assert line in text

    packed = document(whet("skill", "pack", "package", "--json"))
    names = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    assert sorted(name.removeprefix("package/") for name in zipfile.ZipFile(packed["path"]).namelist()) == names
    (root / "plain").mkdir()
    text = "---\nname: plain\ndescription: Is plain.\nversion: 1.2.0\ntags: [a]\nauthor: {name: Me}\n---\nDo it.\n"
    (root / "plain" / "SKILL.md").write_text(text, encoding="utf-8")
    published = document(whet("publish", "package", "plain", "--index", str(work / "site"), "--json"))
    releases = [(release["name"], release["version"]) for release in published["releases"]]
    assert releases == [("package", "2.1.0"), ("plain", "1.2.0")]

    triggers = document(whet("learn", "eval", "triggers", "package", "--json"))
    assert triggers["cases"] == 2, triggers

    manifest = json.loads((place / "skill.json").read_text(encoding="utf-8"))
    (place / "skill.json").write_text(json.dumps({**manifest, "version": "3.0.0"}), encoding="utf-8")
    notes = [note for note in document(whet("doctor", "--json"))["report"] if note["skill"] == "package"]
    assert [(note["code"], note["message"]) for note in notes] == [
        ("skill-json-disagrees", "skill.json has a different version; the frontmatter wins.")
    ]


def test_flat_skills(home: Path, whet: Callable[..., CompletedProcess[str]]) -> None:
    root = home / ".agents" / "skills"
    root.mkdir(parents=True)
    (root / "tidy-up.md").write_text("# Tidy up\n\nSort the desk first. Then wipe it.\n", encoding="utf-8")
    (root / "README.md").write_text("About these skills.\n", encoding="utf-8")
    first = document(whet("sources", "digest", str(root), "--json"))["digest"]
    shown = document(whet("show", "tidy-up", "--json"))
    assert (shown["description"], shown["path"]) == ("Sort the desk first. Then wipe it.", str(root / "tidy-up.md"))
    for words, version in (
        (("new", "tidy-up", "--body", "# Tidy up\n\nWipe the desk.\n"), "2"),
        (("skill", "patch", "tidy-up", "--find", "Wipe", "--replace", "Dust"), "3"),
        (("edit", "tidy-up", "--body", "# Tidy up\n\nDust all desks.\n"), "4"),
    ):
        assert document(whet(*words, "--json"))["version"] == version
    assert (root / "tidy-up.md").read_text(encoding="utf-8") == (
        '---\nname: tidy-up\ndescription: Sort the desk first.\nmetadata:\n  version: "4"\n---\n\n'
        "# Tidy up\n\nDust all desks.\n"
    )
    assert sorted(path.name for path in root.iterdir()) == ["README.md", "tidy-up.md"]
    second = document(whet("sources", "digest", str(root), "--json"))["digest"]
    assert first != second
    document(whet("undo", "--json"))
    assert "Dust the desk." in (root / "tidy-up.md").read_text(encoding="utf-8")
