"""A small library with a skill that has evals, and models that do and grade them, for tests of evals."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from whet import Library
from whet.learning.evals.formats import read_evals
from whet.learning.evals.subject import Subject
from whet.learning.models.scripted import Scripted
from whet.skill.tree import Item

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.evals.formats import Eval
    from whet.learning.models.model import Request

NAME = "commit-notes"
DESCRIPTION = "Writes commit notes in the house form. Use it when somebody asks for a commit note."
BODY = "# Commit notes\n\nWrite one line that says what changed.\n"
BETTER = "# Commit notes\n\nWrite one line that says what changed. End with `Signed-off-by: Ann`.\n"
EVALS = {
    "skill_name": NAME,
    "evals": [
        {
            "id": "signed",
            "prompt": "Write the note for the login fix.",
            "expectations": [
                {"type": "contains", "value": "Signed-off-by: Ann"},
                "The note says what was fixed about the login",
            ],
        }
    ],
}


def tree(body: str = BODY, *, evals: Any = EVALS, frontmatter: str = "", **more: bytes) -> dict[str, Item]:
    """The files of the skill; further ones with `__` for `/` in their paths and `_md` for `.md`."""
    text = f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n{frontmatter}---\n\n{body}"
    files = {"SKILL.md": Item(text.encode()), "evals/evals.json": Item(json.dumps(evals).encode())}
    files |= {path.replace("__", "/").replace("_md", ".md"): Item(data) for path, data in more.items()}
    return files


def subject(body: str = BODY, **more: Any) -> Subject:
    return Subject(NAME, "/skills/commit-notes", tree(body, **more))


def one_eval(**fields: Any) -> Eval:
    """The only eval of a file with these fields."""
    return read_evals([{"id": "one", "prompt": "Do it.", **fields}]).evals[0]


def opened(top: Path) -> Library:
    """A library of one root in a directory of its own."""
    for name in ("skills", "home"):
        (top / name).mkdir(parents=True, exist_ok=True)
    env = {"HOME": str(top / "home"), "PATH": os.environ.get("PATH", os.defpath)}
    return Library.open([top / "skills"], home=top / "state", project=top, env=env)


def with_evals(top: Path, name: str = NAME, evals: Any = EVALS) -> None:
    """Put the evals into a skill's directory, as its author does."""
    directory = top / "skills" / name / "evals"
    directory.mkdir(parents=True)
    (directory / "evals.json").write_text(json.dumps(evals), encoding="utf-8")


def obedient() -> Scripted:
    """A model that does what the skill says, and a grader that quotes the first line it finds."""
    return Scripted(_obeyed)


def improver(*answers: Any) -> Scripted:
    """The obedient model, which also proposes edits: in each round the next of these answers, then the last again.

    An answer is a list of edits, a text, or an error that is raised.
    """
    left = [*answers]

    def answered(request: Request) -> str:
        if not any(message.text.startswith("You improve") for message in request.messages):
            return _obeyed(request)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, str) else json.dumps({"edits": answer})

    return Scripted(answered)


def asked(model: Scripted) -> list[str]:
    """What the model was told each time it was asked for edits."""
    return [
        request.messages[-1].text
        for request in model.requests
        if any(message.text.startswith("You improve") for message in request.messages)
    ]


def edit(text: str = "", anchor: str = "", why: str = "It helps.") -> dict[str, str]:
    """An edit as a model writes it."""
    return {"text": text, "anchor": anchor, "why": why}


def _obeyed(request: Request) -> str:
    told = "\n".join(message.text for message in request.messages if message.role in ("system", "user"))
    if "You grade" in told:
        asked = request.messages[-1].text
        output = re.split(r"\[[0-9a-f]{16}\n", asked)[-1]
        line = output.split("\n")[0]
        numbers = re.findall(r"^(\d+)\. ", asked, re.MULTILINE)
        return json.dumps(
            {"results": [{"number": int(n), "evidence": line, "passed": "login" in line} for n in numbers]}
        )
    if "Write nothing." in told:
        return "Nothing."
    signed = "\nSigned-off-by: Ann" if "Signed-off-by" in told else ""
    return f"Fix the login that timed out{signed}"
