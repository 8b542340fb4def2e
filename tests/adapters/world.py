"""A library with one skill, and an agent without a model: a fixed policy that lists, views, reads a file and mends.

Every adapter runs the same policy, so every one must show the model the same answers and leave the same on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet import Library, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MESSAGE = "deploy the shop to staging"
ABOUT = "Deploys the shop to staging. Use when asked to ship it."
BODY = "# Deploy\n\nRun the tests, then ship. See references/checklist.md.\n"
MAIN = f"---\nname: deploy\ndescription: {ABOUT}\n---\n{BODY}"
MENDED = f'---\nname: deploy\ndescription: {ABOUT}\nmetadata:\n  version: "2"\n---\n' + BODY.replace(
    "then ship.", "then go."
)
CHECKLIST = "- tests are green\n"
INDEX = f"▸ deploy: {ABOUT}"
OFFER = f"Skills that may fit this message; load one with skill_view(name) before you act on it:\n{INDEX}"
NAMES = ["skills_list", "skill_view", "skills_search", "skill_manage", "skill_feedback", "skill_distill"]


class Call(NamedTuple):
    """What an agent calls next."""

    name: str
    arguments: dict[str, Any]


def policy(answers: list[dict[str, Any]]) -> Call | None:
    """The next call, from what came back so far; None when the work is done."""
    if not answers:
        return Call("skills_list", {})
    name = answers[0]["skills"][0]["name"]
    if len(answers) == 1:
        return Call("skill_view", {"name": name})
    if len(answers) == 2:
        beside = next(file["path"] for file in answers[1]["files"] if file["path"].startswith("references/"))
        return Call("skill_view", {"name": name, "file_path": beside})
    if len(answers) == 3:
        patch = {"action": "patch", "name": name, "find": "then ship.", "replace": "then go."}
        return Call("skill_manage", {"operations": [patch], "reason": "It was not said what to do."})
    return None


class World:
    """A machine in a temporary directory."""

    def __init__(self, top: Path) -> None:
        self.root = top / "home" / ".agents" / "skills"
        self.skill = self.root / "deploy"
        (self.skill / "references").mkdir(parents=True)
        (self.skill / "SKILL.md").write_text(MAIN, encoding="utf-8", newline="\n")
        (self.skill / "references" / "checklist.md").write_text(CHECKLIST, encoding="utf-8", newline="\n")
        (top / "state").mkdir()
        config = "exact_tokens = false\n"
        self.config = top / "state" / "config.toml"
        self.config.write_text(config)
        env = {"HOME": str(top / "home"), "PATH": ""}
        self.library = Library.open(home=top / "state", project=top, env=env, platform="linux")
        self.digest = self.library.workspace.open(self.library.card("deploy")).digest

    def main(self) -> str:
        return (self.skill / "SKILL.md").read_text(encoding="utf-8")

    def broken(self) -> str:
        """Break the settings; gives what is told of it."""
        self.config.write_text("x = [\n")
        try:
            self.library.index()
        except UsageError as error:
            return f"{error.message} {error.hint}"
        raise AssertionError("the settings can still be read")

    def answers(self) -> list[dict[str, Any]]:
        """What the policy is answered, in a library that it has not changed yet or has just mended."""
        path, scope = str(self.skill), {"category": "", "scope": "user", "ready": True}
        known = {"name": "deploy", "description": ABOUT, "path": path}
        view = {
            "content": BODY,
            "page": 1,
            "pages": 1,
            "files": [
                {"path": "SKILL.md", "size": len(MAIN)},
                {"path": "references/checklist.md", "size": len(CHECKLIST)},
            ],
            "digest": self.digest,
            "version": "",
            "missing": [],
            "setup": "",
            "tags": [],
            "related_skills": [],
            "license": "",
            "compatibility": "",
            "allowed_tools": [],
            "origin": {"scope": "user", "client": "agents", "root": str(self.root)},
            "trust": "local",
            "diagnostics": [],
            "settings": [],
        }
        return [
            {
                "success": True,
                "skills": [{**known, **scope}],
                "categories": [],
                "count": 1,
                "total": 1,
                "next": None,
                "hint": "Open a skill by name to read its instructions.",
            },
            {"success": True, **known, **scope, **view},
            {
                "success": True,
                "name": "deploy",
                "file": "references/checklist.md",
                "size": len(CHECKLIST),
                "digest": "sha256:c8024c3487732fd5f5a52355fb8dd565853ac2c0b975db461cad42a2d0da908f",
                "binary": False,
                "content": CHECKLIST,
                "page": 1,
                "pages": 1,
            },
            {
                "success": True,
                "action": "patch",
                "name": "deploy",
                "path": path,
                "version": "2",
                "digest": self.library.workspace.open(self.library.card("deploy")).digest,
                "replacements": 1,
                "entry": 2,
                "entries": [2],
                "warnings": [],
            },
        ]


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    return World(tmp_path)
