"""An answer of a model about a session, taken over one field at a time: what holds is taken, what does not is told.

There is no field for a step, a command, a tool or a rule that the session does not have; what is worded anew is held
against the session by `grounding`. The answer may be anything: types are looked at here, whatever a schema promised.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.learning.distilling.grounding import Ground, says_the_same, shown
from whet.learning.distilling.naming import DESCRIPTION, NAME, TRIGGERS
from whet.learning.distilling.rounds import TRIGGER, checked
from whet.learning.facts.model import Parameter
from whet.learning.facts.parameters import Blanks
from whet.learning.facts.shell import programs
from whet.learning.facts.steps import tools_in
from whet.learning.facts.values import emails, paths, values
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.distilling.rounds import Value
    from whet.learning.facts.model import Facts, Passage, Sort, Step

GOAL = 200
"""Characters of a goal; the others likewise."""
TITLE = 120
SENTENCE = 300
HEADING = 60
VALUES = 12
"""Values of the case that a model may find."""
_REFUSED = 40
"""Refusals that are told."""
_ASKING = "user mentions asks wants requests somebody skill"
"""Words with which any description says when."""
_TESTED = ("All tests pass", "It ends with exit code 0")
"""Checks that a test or a build made; nothing a model says is better."""
_LIKE_VALUES = re.compile(r"[\d@._/-]|[A-Z]")
_NOT_IN_VALUES = re.compile(r"[`|&;<>$(){}\"'\\\[\]]|\A-")
_NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")
_WORD = re.compile(r"[\w./@:-]{3,}")
_FIRST_PERSON = re.compile(r"\A(?:I|We|You)\b|\b(?:I|you) (?:can|will)\b")


class Taking:
    """An answer being taken over, one field after the other."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.proposed: dict[str, Value] = {}
        self._ground = Ground(facts)
        self._refused: list[str] = []

    @property
    def refused(self) -> tuple[str, ...]:
        """What was not taken, and why, a sentence each."""
        return tuple(self._refused[:_REFUSED])

    def take(self, answer: Mapping[str, Any]) -> None:
        """Take what holds. Values come first, because the other texts may name them."""
        for row in _rows(answer.get("values"))[:VALUES]:
            self._value(row)
        self._ground = Ground(self.facts)
        self._rules(_by_number(answer.get("rules"), len(self.facts.corrections)))
        self._knowledge(_by_number(answer.get("knowledge"), len(self.facts.knowledge)))
        self._goal(_line(answer.get("goal")))
        self._name(_line(answer.get("name")))
        triggers = self._triggers(answer.get("triggers"))
        self._description(_line(answer.get("description")), triggers)
        self._steps(_by_number(answer.get("steps"), len(self.facts.steps)))

    def _refuse(self, what: str, why: str) -> None:
        self._refused.append(f"{what} was not taken: {why}.")

    def _holds(self, what: str, text: str, most: int, **how: Any) -> bool:
        problem = self._ground.problem(text, most, **how)
        if problem:
            self._refuse(what, problem)
        return not problem

    # --- what it is about --------------------------------------------------------------------------------------------

    def _goal(self, text: str) -> None:
        if text and self._holds("The goal", text, GOAL):
            self.facts = self.facts._replace(goal=text)

    def _name(self, text: str) -> None:
        if not text:
            return
        try:
            name = checked("name", text)
        except UsageError as error:
            self._refuse("The name", error.message.rstrip("."))
            return
        if re.search(r"\d", str(name)) or "anthropic" in str(name) or "claude" in str(name):
            self._refuse("The name", "it names a single case or a product")
        elif self._holds("The name", str(name).replace("-", " "), NAME):
            self.proposed["name"] = name

    def _triggers(self, value: Any) -> tuple[str, ...]:
        words = [_line(word) for word in value[: 2 * TRIGGERS]] if isinstance(value, list) else []
        taken = tuple(word for word in dict.fromkeys(words) if word and self._trigger(word))[:TRIGGERS]
        if taken:
            self.proposed["triggers"] = taken
        return taken

    def _trigger(self, word: str) -> bool:
        what = f"The trigger {shown(word)}"
        try:
            checked("triggers", [word])
        except UsageError:
            self._refuse(what, "it cannot be one")
            return False
        return self._holds(what, word, TRIGGER, free=True)

    def _description(self, text: str, triggers: tuple[str, ...]) -> None:
        if not text:
            return
        called = key_terms(" ".join((_ASKING, *triggers)))
        if _FIRST_PERSON.search(text):
            self._refuse("The description", "it is not in the third person")
        elif self._holds("The description", text, DESCRIPTION, also=called):
            if problem := _lint(text):
                self._refuse("The description", problem)
            else:
                self.proposed["description"] = text

    # --- rules, knowledge, values ------------------------------------------------------------------------------------

    def _rules(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        rules, blanks = list(self.facts.corrections), Blanks(self.facts.parameters)
        for at, row in rows.items():
            text = _line(row.get("text"))
            if not text or text == blanks(rules[at]):
                continue
            if not says_the_same(blanks(rules[at]), text):
                self._refuse(f"The wording of rule {at + 1}", "it is not the same rule")
            elif self._holds(f"The wording of rule {at + 1}", text, SENTENCE):
                rules[at] = text
        self.facts = self.facts._replace(corrections=tuple(rules))

    def _knowledge(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        """Headings for passages; those of a source that have the same one stand together."""
        passages = list(self.facts.knowledge)
        for at, row in rows.items():
            heading = _line(row.get("heading"))
            if not heading or heading == passages[at].section:
                continue
            if self._holds(f"The heading of passage {at + 1}", heading, HEADING):
                passages[at] = passages[at]._replace(section=heading)
        if passages != list(self.facts.knowledge):
            self.facts = self.facts._replace(knowledge=_grouped(passages))

    def _value(self, row: Mapping[str, Any]) -> None:
        value, name = _line(row.get("value")), _line(row.get("name")).strip("{}")
        what = f"The value {shown(value)}"
        if problem := self._no_value(value, name):
            self._refuse(what, problem)
            return
        about = _line(row.get("about")).rstrip(".")
        if self._ground.problem(about, HEADING, free=True):
            about = f"the {name.replace('_', ' ')}"
        widened = self.facts._replace(parameters=(*self.facts.parameters, _parameter(self.facts, value, name, about)))
        if _commands(widened) != _commands(self.facts):
            self._refuse(what, "it is part of a command")
        else:
            self.facts = widened

    def _no_value(self, value: str, name: str) -> str:
        """Why something cannot become an input; empty when it can."""
        facts = self.facts
        if not _NAME.fullmatch(name) or name in {one.name for one in facts.parameters}:
            return f"{shown(name)} cannot be its name"
        if not 3 <= len(value) <= TITLE or _NOT_IN_VALUES.search(value) or "[secret" in value:
            return "it is no value"
        own = Blanks((_parameter(facts, value, name, ""),))
        if not any(own(step.action) != step.action for step in facts.steps):
            return "no step uses it"
        if any(own(rule) != rule for rule in facts.corrections):
            return "a rule names it"
        if not _LIKE_VALUES.search(value) and own(facts.request) == facts.request:
            return "nobody gave it"
        return ""

    # --- steps -------------------------------------------------------------------------------------------------------

    def _steps(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        gone = self._gone(rows)
        steps = [self._step(at, step, rows.get(at, {})) for at, step in enumerate(self.facts.steps) if at not in gone]
        self.facts = self.facts._replace(steps=tuple(steps))

    def _gone(self, rows: Mapping[int, Mapping[str, Any]]) -> set[int]:
        """The steps to leave out: never more than half of them, and none that a later one needs."""
        noise = [at for at, row in rows.items() if row.get("drop") is True]
        if 2 * len(noise) > len(self.facts.steps):
            self._refuse(f"That {len(noise)} of {len(self.facts.steps)} steps go", "more than half would be gone")
            return set()
        gone = set()
        for at in noise:
            if needed_later(self.facts, at):
                self._refuse(f"That step {at + 1} goes", "a later step uses what it makes")
            else:
                gone.add(at)
        return gone

    def _step(self, at: int, step: Step, row: Mapping[str, Any]) -> Step:
        asked = (self.facts.goal, *self.facts.requirements, *self.facts.corrections)
        own = key_terms("\n".join((step.title, step.action, step.why, step.criterion, *asked)))

        def sentence(key: str, old: str, most: int) -> str:
            """The model's sentence if it holds, else the old one."""
            text, what = _line(row.get(key)), f"The {key} of step {at + 1}"
            if not text or text == old:
                return old
            if old.startswith(_TESTED):
                self._refuse(what, "the check that was made in the session is better")
            elif self._holds(what, text, most):
                if own & key_terms(text):
                    return text
                self._refuse(what, "it says nothing about the step")
            return old

        title, why = sentence("title", step.title, TITLE), sentence("why", step.why, SENTENCE)
        check = sentence("check", step.criterion, SENTENCE)
        return step._replace(title=title.rstrip("."), why=why.rstrip("."), criterion=check)


def needed_later(facts: Facts, at: int) -> bool:
    """Does a later step use what this one makes: a file, a name, something it printed?

    What a step makes is what it is the first to name; of a step that only looks, that is what it printed.
    """
    step = facts.steps[at]
    looks = step.tool in ("Read", "Search", "Web") or (
        step.tool == "Bash" and all(one.looks for one in programs(step.action))
    )
    before = "\n".join((facts.request, *(f"{one.title}\n{one.action}" for one in facts.steps[:at])))
    ran = {word for use in facts.tools for word in use.command.split()}
    made = _names(step.criterion if looks else f"{step.title}\n{step.action}\n{step.criterion}")
    made -= _names(before) | ran
    return any(made & _names(one.action) for one in facts.steps[at + 1 :])


def _names(text: str) -> set[str]:
    """The words of a command, and of paths also what they end with; options are none."""
    found = {word.strip(".:") for word in _WORD.findall(text) if not word.startswith("-")}
    return found | {word.rpartition("/")[2] for word in found if len(word.rpartition("/")[2]) > 2}


def _commands(facts: Facts) -> list[tuple[str, str]]:
    """The tools and programs of the steps, as a draft with these parameters would have them."""
    blanks = Blanks(facts.parameters)
    return list(tools_in([step._replace(action=blanks(step.action)) for step in facts.steps]))


def _parameter(facts: Facts, value: str, name: str, about: str) -> Parameter:
    shapes = (*paths(value, anywhere=True), *emails(value), *values(value))
    sort: Sort = next((one.sort for one in shapes if one.text == value), "name")
    actions = "\n".join(step.action for step in facts.steps)
    places = (("request", facts.request), ("steps", actions), ("files", "\n".join(facts.files)))
    return Parameter(name, value, sort, tuple(where for where, text in places if value in text), about)


def _grouped(passages: list[Passage]) -> tuple[Passage, ...]:
    """The passages with those of one source and one heading beside each other, where the first of them stands."""
    places: dict[tuple[str, ...], int] = {}
    for at, one in enumerate(passages):
        places.setdefault((one.source,), at)
        places.setdefault((one.source, one.section), at)
    return tuple(sorted(passages, key=lambda one: (places[one.source,], places[one.source, one.section])))


def _lint(description: str) -> str:
    """What the linter objects to in a description; empty when nothing."""
    from whet.skill.validate import ValidationInput, validate

    text = f"---\nname: skill\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n\nDo it.\n"
    found = validate(ValidationInput("skill", text), "quality")
    said = (one.message for one in found if one.code.startswith("description-") and one.severity != "info")
    return next(said, "").rstrip(".")


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _by_number(value: Any, most: int) -> dict[int, Mapping[str, Any]]:
    """Rows by their place; of several for one, the first counts, and what has no place is none."""
    found: dict[int, Mapping[str, Any]] = {}
    for row in _rows(value):
        number = row.get("number")
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= most:
            found.setdefault(number - 1, row)
    return dict(sorted(found.items()))
