"""English made from word lists, so that generated skills have the size and texture of real ones.

Everything is drawn from one `random.Random`: the same seed gives the same text, byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


VERBS = _words(
    "audit build check clean compare compile convert debug deploy design diagnose document draft explain export fetch"
    " format generate import index inspect migrate monitor parse plan profile publish refactor release review rotate"
    " schedule summarize test trace translate tune validate write"
)
SUBJECTS = _words(
    "access-log api-client archive audio-track backup billing-report branch budget calendar changelog chart checklist"
    " cluster config contract container dashboard dataset database dependency diagram email form image incident index"
    " invoice job keyboard-shortcut kubernetes-manifest ledger mailbox message-queue metric model newsletter notebook"
    " package pdf pipeline playlist presentation prompt pull-request query recipe schema script secret server"
    " spreadsheet style-guide survey template ticket transcript translation video webhook website workflow"
)
CONTEXTS = _words(
    "android aws azure bash beginners ci csv django docker excel figma gcp git github go java jira json linux macos"
    " markdown notion offline postgres python react redis rust sales security slack sqlite startups support"
    " teams terraform typescript windows yaml"
)
QUALITIES = _words(
    "accurate broken clear complete consistent deprecated duplicated empty expected failing incremental invalid"
    " large legacy malformed missing nested noisy outdated partial pending private readable recent safe slow small"
    " stale strict temporary unexpected unused useful verified"
)
PEOPLE = ("the user", "a reviewer", "the team", "an analyst", "the on-call engineer", "a maintainer", "a colleague")
TAILS = (
    "before anything is changed",
    "and keep the original untouched",
    "so that the next run finds the same state",
    "without asking for credentials twice",
    "and note every assumption in the summary",
    "unless the input is smaller than a page",
    "because later steps rely on the order",
    "in the language the request was written in",
    "and stop at the first error",
    "with the units written next to the numbers",
)
_DESCRIPTION_ENDS = (
    "Use when {who} asks to {verb} {a_quality} {subject}, mentions {context}, or pastes {a_subject2}.",
    "Use this whenever {a_subject} has to be {quality} and {context} is part of the set-up.",
    "Not for {quality} {subject2} work, and not for {context} in general.",
    "Covers {subject} intake, {quality} {subject2} handling, and a short report for {who}.",
    "Also helps when {a_quality} {subject} turns up in {context} and nobody knows why.",
)
_SENTENCES = (
    "First {verb} the {subject} and look for {quality} entries {tail}.",
    "When the {subject} is {quality}, {verb2} it with the {context} tools {tail}.",
    "Ask {who} which {subject} matters most if there is more than one.",
    "Usually {a_quality} {subject} means that the {subject2} was not {quality2} in the first place.",
    "Prefer {a_quality} {subject} over {a_quality2} one, and {verb} it {tail}.",
    "The {context} set-up differs: there the {subject} lives next to the {subject2} and is {quality} by default.",
    "Never {verb} {a_subject} that {who} has marked as {quality}; copy it and {verb2} the copy instead.",
    "If the numbers do not add up, {verb} the {subject2} again {tail}.",
    "Write the result as a table with one row for every {subject} and one column for every {quality} field.",
    "Keep the {subject} under version control and {verb} it {tail}.",
)
_COMMANDS = (
    "python scripts/{verb}_{subject}.py --input {subject2}.json --format {context}",
    "{context}-tool {verb} ./{subject} --only {quality} > {subject2}.txt",
    'for file in {subject}/*.txt; do {verb} "$file" || echo "{quality}: $file"; done',
    "grep -rn '{quality}' {subject}/ | sort | uniq -c | sort -rn | head -20",
)


class Prose:
    """Sentences, descriptions and bodies, drawn from one source of randomness."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def fill(self, template: str) -> str:
        """A template with its gaps filled."""
        choice = self._random.choice
        subject, subject2 = choice(SUBJECTS).replace("-", " "), choice(SUBJECTS).replace("-", " ")
        quality, quality2 = choice(QUALITIES), choice(QUALITIES)
        return template.format(
            verb=choice(VERBS),
            verb2=choice(VERBS),
            subject=subject,
            subject2=subject2,
            context=choice(CONTEXTS),
            quality=quality,
            quality2=quality2,
            who=choice(PEOPLE),
            tail=choice(TAILS),
            a_subject=_with_article(subject),
            a_subject2=_with_article(subject2),
            a_quality=_with_article(quality),
            a_quality2=_with_article(quality2),
        )

    def sentence(self) -> str:
        """One sentence of instructions."""
        return self.fill(self._random.choice(_SENTENCES))

    def paragraph(self) -> str:
        """A few sentences."""
        return " ".join(self.sentence() for _ in range(self._random.randint(2, 6)))

    def description(self, opening: str, length: int) -> str:
        """What a skill does and when to use it, about `length` characters, never more than 1,000."""
        text = opening
        while len(text) < length:
            longer = f"{text} {self.fill(self._random.choice(_DESCRIPTION_ENDS))}"
            if len(longer) > 1000:
                break
            text = longer
        return text

    def body(self, title: str, size: int) -> str:
        """Markdown instructions of about `size` characters: sections of prose, steps, tables and code."""
        parts = [f"# {title}\n", self.paragraph() + "\n"]
        written = sum(map(len, parts))
        while written < size:
            section = "\n".join(self._section())
            parts.append(section)
            written += len(section) + 1
        return "\n".join(parts)

    def _section(self) -> list[str]:
        random = self._random
        lines = [f"## {random.choice(VERBS).capitalize()} the {random.choice(SUBJECTS).replace('-', ' ')}", ""]
        kind = random.randrange(4)
        if kind == 0:
            lines += [self.paragraph(), "", self.paragraph()]
        elif kind == 1:
            lines += [f"{number}. {self.sentence()}" for number in range(1, random.randint(4, 9))]
        elif kind == 2:
            lines += [self.sentence(), "", "```bash"]
            lines += [self.fill(random.choice(_COMMANDS)) for _ in range(random.randint(1, 6))]
            lines += ["```", "", self.paragraph()]
        else:
            lines += ["| case | what to do |", "|---|---|"]
            lines += [f"| {random.choice(QUALITIES)} | {self.sentence()} |" for _ in range(random.randint(3, 8))]
        return [*lines, ""]


def _with_article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
