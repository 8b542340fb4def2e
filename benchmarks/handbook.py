"""A collection of skills as one publisher would have it: a hundred short manuals of the same shape, always the same.

A skill is an activity in a field (`compare-invoices`): a SKILL.md of 4 to 8 KB, a page of reference, and for three of
four a script. The text is plain instructions, so that a guard that reads it has nothing to say; the word lists of
`prose.py`, which other benchmarks use, put words together that no honest manual would.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

SEED = 20260


class Field(NamedTuple):
    """What is worked on."""

    one: str
    many: str
    suffix: str
    parts: tuple[str, ...]
    faults: tuple[str, ...]
    reader: str


FIELDS = (
    Field(
        "invoice",
        "invoices",
        "csv",
        ("number", "issue date", "net amount", "tax rate", "due date", "supplier"),
        ("a total that is not the sum of its lines", "a due date before the issue date", "a tax rate nobody charges"),
        "the bookkeeper",
    ),
    Field(
        "survey",
        "surveys",
        "csv",
        ("question", "answer", "language", "weight", "respondent group", "comment"),
        ("an answer outside the scale", "a respondent counted twice", "a question that was reworded half way"),
        "the analyst",
    ),
    Field(
        "recipe",
        "recipes",
        "json",
        ("title", "yield", "ingredient list", "oven temperature", "resting time", "step"),
        ("an ingredient that no step uses", "cups and grams in one list", "a time that does not add up"),
        "the test kitchen",
    ),
    Field(
        "transcript",
        "transcripts",
        "txt",
        ("speaker", "time mark", "sentence", "topic", "decision", "open question"),
        ("two speakers under one name", "time marks that run backwards", "a decision that is only implied"),
        "whoever missed the meeting",
    ),
    Field(
        "catalogue",
        "catalogues",
        "json",
        ("item number", "short title", "measure", "weight", "price band", "photograph"),
        ("an item number used twice", "inches where the rest is metric", "a picture of another item"),
        "the shop's editor",
    ),
    Field(
        "timetable",
        "timetables",
        "csv",
        ("line", "stop", "departure", "platform", "operating day", "footnote"),
        ("an arrival before its departure", "a footnote without a meaning", "a stop the line does not serve"),
        "the planning desk",
    ),
    Field(
        "photo-album",
        "photo albums",
        "json",
        ("caption", "camera", "place", "date taken", "rating", "album page"),
        ("a caption under the wrong picture", "a date from a camera that was never set", "two copies in two sizes"),
        "the family archive",
    ),
    Field(
        "changelog",
        "changelogs",
        "md",
        ("version", "release date", "section", "entry", "contributor", "migration note"),
        ("a version that was never tagged", "an entry nobody outside the team can read", "a date in the future"),
        "people who upgrade",
    ),
    Field(
        "glossary",
        "glossaries",
        "md",
        ("term", "definition", "language pair", "source", "usage note", "synonym"),
        ("a term defined by itself", "two spellings of one term", "a definition longer than a paragraph"),
        "the translators",
    ),
    Field(
        "inventory",
        "inventories",
        "csv",
        ("shelf", "article", "quantity", "unit", "last count", "remark"),
        ("a quantity below nothing", "an article on two shelves", "a count older than a year"),
        "the storekeeper",
    ),
)
ACTIVITIES = ("check", "clean", "compare", "convert", "draft", "explain", "merge", "sort", "split", "summarize")
_FITS = (
    "Use when somebody brings {many} to {verb}, asks what is wrong with a {part}, or wants them ready for {reader}.",
    "Use when {many} have to be made ready for {reader}, when a {part} looks odd, or when two versions disagree.",
)
_SENTENCES = (
    "Read the whole {one} once before you change a single {part}; the reason for an odd value is often further down.",
    "The {part} identifies each {one}, and the {part2} is used where several share it.",
    "Write down how many {many} there are and how many have the {part}, and compare the numbers at the end.",
    "Missing values of the {part} are shown as an empty cell, and the summary counts them for each file.",
    "When the {part} and the {part2} disagree, believe the one that was entered by a person and say so in the notes.",
    "The output lists the {many} in the order of the input file, or sorted by {part} if the user asks for it.",
    "Validation reports {fault} as a warning with the line number; the value itself is not changed.",
    "Also look for {fault}. Most of these come from the export and not from the {one}, so check the export first.",
    "Show the first three results to the user before the other {many} are done in the same way.",
    "Numeric values of the {part} keep the number of decimal places that the input file has.",
    "Dates are year, month and day. Where the {part} can be read in two ways, take the reading of its neighbours.",
    "The table has a column for the {part} and one for the {part2}, with the units in its header.",
    "Two {many} are the same when their {part} and their {part2} are the same; everything else may differ.",
    "Do not guess the {part}. An empty field is something that {reader} can ask about, a wrong one is not.",
    "Give each kind of fault a short name and count it, so that the summary fits on half a page.",
    "If there are more than two hundred {many}, work on a sample of twenty first and describe what you see.",
    "Numbers with a comma and numbers with a point may stand in one file; decide for each column, not for each line.",
    "Error messages name the file, the line number and the {part}, for example `line 12: {part} is empty`.",
    "The user may have given a style for the {part}. It is written in the first lines of the file, if anywhere.",
    "Tell {reader} at the top what was done, what was left alone, and what is still open.",
    "Save the result beside the original under the same name with the date behind it; the original stays as it is.",
    "If the {part2} is long, write one sentence about it: what it is, what it is for, and since when.",
    "Check the result by going back: pick five {many}, find them in the original and compare the {part} by eye.",
    "Stop and ask when a rule of this page and a wish of the user cannot both be followed.",
)
_STEPS = (
    "List the {many} with their {part}.",
    "Set aside each {one} that has {fault}.",
    "Bring the {part} into one form.",
    "Look at the {part2} of those that are left and note what is unusual.",
    "Compare the number of {many} with the number at the start.",
    "Write the summary for {reader}.",
    "Show the table to the user, with the totals in its last row.",
)
_RULES = ("required", "optional, one line", "a whole number", "year-month-day", "at most 80 characters", "unique")
_SCRIPT = '''"""Count the {many} of a file and tell which have no {part}."""

import {module}
import sys

FIELDS = {fields!r}


def read(path):
    """The {many} of a file, each as a dictionary."""
    with open(path, encoding="utf-8") as file:
{reading}


def without(records, field):
    """The places of the records whose field is empty."""
    return [place for place, record in enumerate(records, 1) if not str(record.get(field, "")).strip()]


def main():
    records = read(sys.argv[1])
    print(len(records), "{many}")
    for field in FIELDS:
        missing = without(records, field)
        if missing:
            shown = ", ".join(map(str, missing[:{shown}]))
            print(f"{{field}}: empty in {{len(missing)}} ({{shown}})")


if __name__ == "__main__":
    main()
'''
_READING = {
    "csv": ("csv", "        return list(csv.DictReader(file))"),
    "json": ("json", '        return json.load(file)["items"]'),
    "md": ("re", '        return [{"text": text} for text in re.split(r"^## ", file.read(), flags=re.MULTILINE)[1:]]'),
    "txt": ("re", '        return [{"text": text} for text in re.split(r"\\n{2,}", file.read()) if text]'),
}


def names(count: int) -> list[str]:
    """The names of the skills, up to a hundred different ones, then numbered."""
    found = [f"{activity}-{field.many.replace(' ', '-')}" for activity in ACTIVITIES for field in FIELDS]
    return [
        found[number % len(found)] + (f"-{number // len(found) + 1}" if number >= len(found) else "")
        for number in range(count)
    ]


def skills(count: int, seed: int = SEED) -> dict[str, dict[str, bytes]]:
    """Name -> the files of a skill by path."""
    made = {}
    for number, name in enumerate(names(count)):
        field, activity = FIELDS[number % len(FIELDS)], ACTIVITIES[number // len(FIELDS) % len(ACTIVITIES)]
        files = _Manual(name, field, activity, Random(f"{seed}/{name}")).files()
        made[name] = {path: text.encode() for path, text in files.items()}
    return made


class _Manual:
    """Writes one skill."""

    def __init__(self, name: str, field: Field, activity: str, random: Random) -> None:
        self.name = name
        self.field = field
        self.activity = activity
        self.random = random

    def files(self) -> dict[str, str]:
        files = {"SKILL.md": self._main(self.random.randint(4_300, 7_300))}
        files[f"references/{self.field.one}-fields.md"] = self._reference(self.random.randint(1_500, 4_000))
        if self.random.random() < 0.75:
            files["scripts/count.py"] = self._script()
        return files

    def _fill(self, template: str) -> str:
        part, part2 = self.random.sample(self.field.parts, 2)
        return template.format(
            one=self.field.one.replace("-", " "),
            many=self.field.many,
            part=part,
            part2=part2,
            fault=self.random.choice(self.field.faults),
            reader=self.field.reader,
            verb=self.activity,
        )

    def _blocks(self, size: int) -> list[str]:
        """Text of about `size` characters in the mix of real manuals: paragraphs, lists, tables, examples."""
        found: list[str] = []
        while sum(map(len, found)) < size:
            sentences = iter([self._fill(sentence) for sentence in self.random.sample(_SENTENCES, 5)])
            found.append(f"{next(sentences)} {next(sentences)}")
            found.append("\n".join(f"- {sentence}" for sentence in sentences))
            found.append(self.random.choice((self._table, self._example))())
        return found

    def _table(self) -> str:
        rows = [f"| {part} | {self.random.choice(_RULES)} |" for part in self.random.sample(self.field.parts, 4)]
        return "\n".join(["| field | rule |", "|---|---|", *rows])

    def _example(self) -> str:
        values = {part.replace(" ", "_"): self.random.randint(10, 9_999) for part in self.field.parts[:4]}
        lines = [f'  "{name}": {value},' for name, value in values.items()]
        return "\n".join(["```json", "{", *lines, f'  "line": {self.random.randint(1, 400)}', "}", "```"])

    def _main(self, size: int) -> str:
        title = f"{self.activity.capitalize()} {self.field.many}"
        opening = f"{title}, one {self.field.one.replace('-', ' ')} or hundreds."
        description = f"{opening} {self._fill(self.random.choice(_FITS))}"
        version = f"1.{self.random.randint(0, 9)}.{self.random.randint(0, 20)}"
        head = f'---\nname: {self.name}\ndescription: {description}\nmetadata:\n  version: "{version}"\n---'
        steps = [f"{number}. {self._fill(step)}" for number, step in enumerate(self.random.sample(_STEPS, 5), 1)]
        example = f"```bash\npython scripts/count.py {self.field.many.replace(' ', '-')}.{self.field.suffix}\n```"
        body = self._blocks(size - 1_200)
        half = len(body) // 2
        parts = [head, f"# {title}", body[0], "## Steps", "\n".join(steps), "## In detail", *body[1:half]]
        parts += ["## Counting", example, "## What to look out for", *body[half:]]
        return "\n\n".join(parts) + "\n"

    def _reference(self, size: int) -> str:
        parts = [f"# The fields of a {self.field.one.replace('-', ' ')}"]
        while sum(map(len, parts)) < size:
            parts += [f"## The {self.random.choice(self.field.parts)}", *self._blocks(400)]
        return "\n\n".join(parts) + "\n"

    def _script(self) -> str:
        module, reading = _READING[self.field.suffix]
        fields = [part.replace(" ", "_") for part in self.field.parts]
        return _SCRIPT.format(
            many=self.field.many,
            part=self.field.parts[0],
            module=module,
            reading=reading,
            fields=fields,
            shown=self.random.randint(5, 20),
        )
