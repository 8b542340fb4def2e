"""The profile `spec` gives the verdict of the reference validator, save for the differences listed here."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from skills_ref.validator import validate as reference

from whet.skill.frontmatter import find_fences
from whet.skill.validate import ValidationInput, valid, validate

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = 2000
GOOD = "---\nname: demo\ndescription: Reads things. Use when asked.\n"


class Difference(NamedTuple):
    """A kind of package on which the two validators disagree, on purpose."""

    ours: bool
    """What Whet says; the reference validator says the opposite."""
    applies: re.Pattern[str]
    """Which frontmatter it is about."""
    reason: str
    sample: str


DIFFERENCES = {
    "byte order mark": Difference(
        True,
        re.compile("\\A\ufeff"),
        "A byte order mark is part of the encoding, not of the text. Strict hosts refuse it: an error under `upload`.",
        f"\ufeff{GOOD}---\n",
    ),
    "carriage returns": Difference(
        False,
        re.compile(r"\r(?!\n)"),
        "Lines end with LF or CRLF. A lone CR is only seen as a line end because Python's text mode turns it into one.",
        f"{GOOD}---\n".replace("\n", "\r"),
    ),
    "text beside the opening fence": Difference(
        False,
        re.compile(r"\A---(?![ \t]*\r?\n)"),
        "The fence is a line that is ---; the reference validator asks for a file that begins with these characters.",
        "---name: demo\ndescription: x\n---\n",
    ),
    "text beside the closing fence": Difference(
        False,
        re.compile(r"\n(?:[ \t]*----?(?![ \t]*\r?\n|[ \t]*\Z)|[ \t]+---)"),
        "The same for the closing fence: the reference validator cuts at the first --- wherever it stands.",
        f"{GOOD}---body\n",
    ),
    "dashes in a value, valid": Difference(
        True,
        re.compile(r"\A---(?s:.)*?[^\n]---"),
        "A --- inside a value is no fence; the reference validator cuts the frontmatter there and sees half a value.",
        '---\nname: demo\ndescription: "a --- b"\n---\n',
    ),
    "dashes in a value, invalid": Difference(
        False,
        re.compile(r"\A---(?s:.)*?[^\n]---"),
        "For the same reason the reference validator never sees the entries that stand behind a --- inside a value.",
        "---\nname: demo\ndescription: a --- b\nunknown: x\n---\n",
    ),
    "keys of other dialects": Difference(
        True,
        re.compile(r"^(?:version|tags|author):", re.MULTILINE),
        "Four dialects have these at the top level and no client stumbles over them; they are warnings with a fix.",
        f"{GOOD}version: 1\n---\n",
    ),
    "null": Difference(
        False,
        re.compile(r"description:\s+(?:null|~)\s*(?:#.*)?\n"),
        "A description that is null is no description; the reference validator reads it as the text 'null'.",
        "---\nname: demo\ndescription: null\n---\n",
    ),
    "flow collections": Difference(
        True,
        re.compile(r":\s+(?:[&!]\S+\s+)?[\[{]"),
        "The specification says YAML, and [a, b] is YAML; strictyaml, which the reference validator uses, forbids it.",
        f"{GOOD}allowed-tools: [Read, Write]\n---\n",
    ),
    "anchors and tags": Difference(
        True,
        re.compile(r":\s+[&*!]"),
        "Anchors, aliases and tags are YAML too; strictyaml forbids them. Whet bounds what they can grow to.",
        "---\nname: &n demo\ndescription: !!str x\n---\n",
    ),
    "tabs": Difference(
        True,
        re.compile(r"\t"),
        "YAML forbids tabs in indentation only; the parser below strictyaml stumbles over them elsewhere as well.",
        "---\nname: demo\ndescription: a\tb\n---\n",
    ),
    "tab at the start of a text block": Difference(
        False,
        re.compile(r"[|>][-+]?\r?\n +\t"),
        "libyaml, which most clients read with, takes the tab for indentation and refuses it.",
        "---\nname: demo\ndescription: |\n  \ta\n---\n",
    ),
    "other line ends": Difference(
        False,
        re.compile("[\x85\u2028\u2029]"),
        "YAML 1.1 readers, which most clients use, end the line at these characters; such a value must be quoted.",
        "---\nname: demo\ndescription: a\x85b\n---\n",
    ),
    "merge keys": Difference(
        True,
        re.compile(r"<<:"),
        "<< is a key like any other in YAML 1.2; below metadata, where any key goes, it may stand.",
        f"{GOOD}metadata:\n  <<: a\n---\n",
    ),
    "size": Difference(
        False,
        re.compile(r"\A(?s:.{65536})"),
        "Frontmatter is bounded at 64 KiB, because it is read before anything is known about its author.",
        f"{GOOD}license: {'x' * 70_000}\n---\n",
    ),
}

AGREED = {
    "good": (GOOD, True),
    "all six keys": (
        f"{GOOD}license: MIT\ncompatibility: git\nmetadata:\n  a: b\nallowed-tools: Read Bash(git:*)\n",
        True,
    ),
    "number as name": ("---\nname: 123\ndescription: x\n", False),
    "number as description": ("---\nname: demo\ndescription: 1.10\n", True),
    "boolean as description": ("---\nname: demo\ndescription: true\n", True),
    "empty description": ("---\nname: demo\ndescription:\n", False),
    "blank description": ("---\nname: demo\ndescription: '  '\n", False),
    "comment as description": ("---\nname: demo\ndescription: # x\n", False),
    "list as description": ("---\nname: demo\ndescription:\n- a\n", False),
    "1,024 characters": (f"---\nname: demo\ndescription: {'d' * 1024}\n", True),
    "1,025 characters": (f"---\nname: demo\ndescription: {'d' * 1025}\n", False),
    "1,024 characters and a line end": (f"---\nname: demo\ndescription: |\n  {'d' * 1024}\n", False),
    "compatibility of 500": (f"{GOOD}compatibility: {'c' * 500}\n", True),
    "compatibility of 501": (f"{GOOD}compatibility: {'c' * 501}\n", False),
    "compatibility list": (f"{GOOD}compatibility:\n- git\n", False),
    "empty compatibility": (f"{GOOD}compatibility:\n", True),
    "license list": (f"{GOOD}license:\n- MIT\n", True),
    "tools list": (f"{GOOD}allowed-tools:\n- Read\n", True),
    "metadata text": (f"{GOOD}metadata: text\n", True),
    "nested metadata": (f"{GOOD}metadata:\n  a:\n    b: 1\n", True),
    "unknown key": (f"{GOOD}unknown: 1\n", False),
    "key given twice": (f"{GOOD}name: demo\n", False),
    "nested key given twice": (f"{GOOD}metadata:\n  a: b\n  a: c\n", False),
    "colon in a value": ("---\nname: demo\ndescription: a: b\n", False),
    "not a mapping": ("---\n- a\n", False),
    "empty frontmatter": ("---\n", False),
    "no name": ("---\ndescription: x\n", False),
    "no description": ("---\nname: demo\n", False),
    "capital letters": ("---\nname: Demo\ndescription: x\n", False),
    "another name": ("---\nname: other\ndescription: x\n", False),
    "name in spaces": ("---\nname: ' demo '\ndescription: x\n", True),
    "forbidden character": ("---\nname: demo\ndescription: a\x07b\n", False),
}


# --- packages of every kind, from a seed ----------------------------------------------------------------------------

NAMES = (
    *("pdf-tools",) * 12,
    *(
        "a",
        "7",
        "x1-2-3",
        "данные",
        "pdf-工具",
        "ｆｕｌｌ",
        "n" * 64,
        "n" * 65,
        "PDF",
        "Данные",
        "-a",
        "a-",
        "a--b",
        "a_b",
    ),
    *("a b", "a/b", "a.b", "ǅ", "ß", "²", "é", "e\u0301"),
)
NAME_ENTRIES = (
    *("name: {}",) * 30,
    *("name: '{}'", 'name: "{}"', "name:   {}   # a comment", "name: |\n  {}", "name: >-\n  {}", "name:\n  {}"),
    *("name: ' {} '", "name: &n {}", "name: !!str {}", "name: [{}]", "name:\n- {}", "name: null", "name:", "name: ''"),
    *(
        "name: 123",
        "name: 1.10",
        "name: true",
        "'name': {}",
        "name : {}",
        "Name: {}",
        "name: {}\nname: {}",
        "? name\n: {}",
    ),
)
DESCRIPTIONS = (
    *("Reads PDF files. Use when the user mentions a PDF.",) * 8,
    *("x", "ü — “quoted”", "it's", "a #1 tool", "12:30:45", "5", "1e3", "true", "null", "~", "2026-01-01", "d" * 1024),
    *(
        "d" * 1025,
        "a: b",
        "a:",
        "- a",
        "> a",
        "@a",
        "`a`",
        "%a",
        "#a",
        "[a] b",
        "{a} b",
        "a --- b",
        "'a",
        '"a',
        "&a b",
        "*a",
    ),
    *(
        "!a b",
        "| a",
        "a\u2028b",
        "a\x85b",
        "a\x07b",
        "a\tb",
        "\ta",
        "a\ufeffb",
        "日本語",
        "😀",
        "a\n  b",
        "a\n  - b",
        "a\n  b: c",
    ),
)
DESCRIPTION_ENTRIES = (
    *("description: {}",) * 20,
    *(
        'description: "{}"',
        "description: '{}'",
        "description: |\n  {}",
        "description: >-\n  {}",
        "description: |+\n  {}\n\n",
    ),
    *(
        "description:\n  {}",
        "description:",
        "description: ''",
        "description: '  '",
        "description:\n- {}",
        "description: [{}]",
    ),
    *(
        "description: # {}",
        "description:\n  a: {}",
        "description: {} # a comment",
        'description: "{}',
        "description: {{}}",
    ),
)
OTHERS = (
    *("license: MIT", "license: Apache-2.0 # see LICENSE", "license: 3", "license:", "license:\n- MIT"),
    *("compatibility: Needs git", "compatibility:", "compatibility: 3", "compatibility:\n- git", "compatibility: ''"),
    *(f"compatibility: {'c' * 500}", f"compatibility: {'c' * 501}", "compatibility: [git]", "compatibility: a: b"),
    *("allowed-tools: Read Bash(git:*)", "allowed-tools:\n  - Read\n  - Write", "allowed-tools: [Read, Write]"),
    *("metadata:\n  author: me\n  version: '1.0'", "metadata:\n  version: 1.0\n  on: yes", "metadata: text"),
    *(
        "metadata:",
        "metadata: {}",
        "metadata: {a: b}",
        "metadata:\n- a",
        "metadata:\n  a:\n    b: c",
        "metadata:\n\ta: b",
    ),
    *(
        "metadata:\n    a: b\n  c: d",
        "metadata:\n  a: b\n  a: c",
        "metadata:\n  a: [b]",
        "metadata:\n  x: ---",
        "metadata: ~",
    ),
    *(
        "version: 1.0",
        "tags: [a, b]",
        "tags:\n- a",
        "Name: x",
        "1: a",
        "~: a",
        "? b",
        "just text",
        "- item",
        "  indented: x",
    ),
    *(
        "# a comment",
        "",
        "   ",
        "\t",
        "...",
        "<<: a",
        "metadata: &m\n  a: b",
        "license: *m",
        "license: a ---",
        'license: "a --- b"',
    ),
)
OPENINGS = (
    *("---\n",) * 30,
    "--- \n",
    "---\t\n",
    "----\n",
    "",
    "\n---\n",
    " ---\n",
    "\ufeff---\n",
    "---",
    "--- #\n",
    "+++\n",
)
CLOSINGS = (
    *("\n---\n",) * 30,
    "\n--- \n",
    "\n---",
    "\n---body\n",
    "\n  ---\n",
    "\n----\n",
    "\n",
    "",
    "\n...\n",
    "\n---\n---\n",
)
BODIES = ("", "\n# Title\n\nText.\n", "text without end", "\n---\n\nmore\n", "# A\n\n- b --- c\n")
MAIN_FILES = (*("SKILL.md",) * 20, "skill.md", "SKILLS.md", "README.md")


class Sample(NamedTuple):
    """One package on disk."""

    directory: str
    main: str
    data: bytes


def sample(seed: int) -> Sample:
    """The package of a seed; the same one every time."""
    rng = Random(seed)
    name = rng.choice(NAMES)
    entries = [
        rng.choice(NAME_ENTRIES).replace("{}", name),
        rng.choice(DESCRIPTION_ENTRIES).replace("{}", rng.choice(DESCRIPTIONS)),
        *rng.sample(OTHERS, rng.choice((0, 0, 0, 1, 1, 2))),
    ]
    if rng.random() < 0.08:
        del entries[rng.randrange(len(entries))]
    if rng.random() < 0.2:
        rng.shuffle(entries)
    text = rng.choice(OPENINGS) + "\n".join(entries) + rng.choice(CLOSINGS) + rng.choice(BODIES)
    end = rng.choice(("\n",) * 12 + ("\r\n", "\r\n", "\r"))
    data = text.replace("\n", end).encode()
    if rng.random() < 0.02:
        data += b"\xff"
    directory = name if rng.random() < 0.9 else rng.choice(NAMES)
    return Sample("".join(c for c in directory if c not in "/\\") or "x", rng.choice(MAIN_FILES), data)


# --- the comparison -------------------------------------------------------------------------------------------------


def frontmatter(text: str) -> str:
    """The text up to its closing fence; all of it when there is none."""
    fences = find_fences(text)
    return text[: fences.body] if fences.start >= 0 and fences.closed else text


def verdicts(where: Path, package: Sample) -> tuple[bool, bool]:
    """What Whet and the reference validator say; an exception of the latter is a no."""
    directory = where / package.directory
    directory.mkdir(parents=True)
    (directory / package.main).write_bytes(package.data)
    try:
        theirs = not reference(directory)
    except (AttributeError, NotImplementedError, ValueError):
        theirs = False
    files = (package.main,)
    return valid(validate(ValidationInput(package.directory, package.data, package.main, files))), theirs


@pytest.mark.parametrize("case", AGREED)
def test_both_validators_give_the_same_verdict_on_the_rules_of_the_format(tmp_path: Path, case: str) -> None:
    text, verdict = AGREED[case]
    for end in ("\n", "\r\n"):
        data = f"{text}---\n\nBody.\n".replace("\n", end).encode()
        assert verdicts(tmp_path / repr(end), Sample("demo", "SKILL.md", data)) == (verdict, verdict)


@pytest.mark.parametrize(
    ("directory", "name", "verdict"),
    [
        ("a", "a", True),
        ("n" * 64, "n" * 64, True),
        ("n" * 65, "n" * 65, False),
        ("技能", "技能", True),
        ("мой-навык", "мой-навык", True),
        ("НАВЫК", "НАВЫК", False),
        ("ﬁle", "file", True),
        ("cafe\u0301", "café", True),
        ("-a", "-a", False),
        ("a-", "a-", False),
        ("a--b", "a--b", False),
        ("a_b", "a_b", False),
        ("a.b", "a.b", False),
        ("a b", "a b", False),
        ("²", "²", True),
    ],
)
def test_both_validators_give_the_same_verdict_on_names(
    tmp_path: Path, directory: str, name: str, *, verdict: bool
) -> None:
    data = f'---\nname: "{name}"\ndescription: x\n---\n'.encode()
    assert verdicts(tmp_path, Sample(directory, "SKILL.md", data)) == (verdict, verdict)


@pytest.mark.parametrize(("main", "verdict"), [("SKILL.md", True), ("skill.md", True), ("README.md", False)])
def test_both_validators_look_for_the_same_main_file(tmp_path: Path, main: str, *, verdict: bool) -> None:
    assert verdicts(tmp_path, Sample("demo", main, f"{GOOD}---\n".encode())) == (verdict, verdict)


@pytest.mark.parametrize("case", DIFFERENCES)
def test_every_listed_difference_is_real(tmp_path: Path, case: str) -> None:
    difference = DIFFERENCES[case]
    assert difference.applies.search(frontmatter(difference.sample))
    package = Sample("demo", "SKILL.md", difference.sample.encode())
    assert verdicts(tmp_path, package) == (difference.ours, not difference.ours)


def test_generated_packages_get_the_same_verdict_or_a_listed_difference(tmp_path: Path, *, quick: bool) -> None:
    valid_ones, seeds = 0, SEEDS // 5 if quick else SEEDS
    for seed in range(seeds):
        package = sample(seed)
        ours, theirs = verdicts(tmp_path / str(seed), package)
        valid_ones += ours
        if ours != theirs:
            head = frontmatter(package.data.decode("utf-8", "replace"))
            reasons = [name for name, row in DIFFERENCES.items() if row.ours == ours and row.applies.search(head)]
            assert reasons, f"seed {seed}: whet says {ours}, the reference validator {theirs}: {head!r}"
    assert valid_ones > seeds // 15
