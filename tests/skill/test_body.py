"""What the Markdown body says: its first prose line and its sections."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.skill.body import WHEN, WHEN_NOT, first_prose, first_sentence, section


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("", ""),
        ("\n\n  \n", ""),
        ("# Title\n\nFirst words.\nSecond.\n", "First words."),
        ("  indented words  \n", "indented words"),
        ("**Bold** words\n", "**Bold** words"),
        ("*emphasis* words\n", "*emphasis* words"),
        ("2026 was a year\n", "2026 was a year"),
        ("-5 degrees\n", "-5 degrees"),
        ("Title\n=====\n", "Title"),
        ("---\n***\n===\nwords\n", "words"),
        ("```sh\nrun this\n```\nwords\n", "words"),
        ("````md\n```\ninner\n```\n````\nwords\n", "words"),
        ("~~~\n```\n~~~\nwords\n", "words"),
        ("```code on one line``` words\n", ""),
        ("```\nnever closed\n", ""),
        ("<!-- note -->\nwords\n", "words"),
        ("<!--\nlicence\n\ntext\n-->\nwords\n", "words"),
        ("<!-- never closed\nhidden\n", ""),
        ("![image](x.png)\n> quoted\n- listed\n", "quoted"),
        ("# Title\n- first\n- second\n", "first"),
        ("1. first\n", "1. first"),
        ("[link](x) and words\n", "[link](x) and words"),
        ("| a | b |\n|---|---|\n\nwords\n", "words"),
        ("# a\r\n\r\nwords\r\n", "words"),
        ("\n" * 199 + "words", "words"),
        ("\n" * 200 + "too far down", ""),
    ],
)
def test_the_first_line_of_prose(body: str, line: str) -> None:
    assert first_prose(body) == line


@pytest.mark.parametrize(
    "title",
    [
        "When to use",
        "When to Use This Skill",
        "WHEN TO USE:",
        "**When to use**",
        "1. When to use",
        "✅ When to use",
        "When should you use it?",
        "When should I use this",
        "Use this skill when",
        "Use this when",
        "When to use #",
    ],
)
def test_headings_that_say_when(title: str) -> None:
    assert section(f"# A\n\nno\n\n## {title}\n\nyes\nyes\n\n## Next\nno\n", WHEN) == "yes\nyes"


@pytest.mark.parametrize(
    "title",
    [
        "When NOT to use",
        "When not to use this skill",
        "Do NOT use",
        "Do not use for",
        "Don't use when",
        "Don’t use it",
        "❌ Do not use",
        "Not for",
        "When to not use",
    ],
)
def test_headings_that_say_when_not(title: str) -> None:
    body = f"## When to use\nyes\n## {title}\nno\n"
    assert section(body, WHEN_NOT) == "no"
    assert section(body, WHEN) == "yes"


@pytest.mark.parametrize("title", ["Do not panic", "Don't repeat yourself", "Notes for users", "Nothing", "Use cases"])
def test_headings_that_say_something_else(title: str) -> None:
    assert section(f"## {title}\ntext\n", WHEN_NOT) == ""
    assert section(f"## {title}\ntext\n", WHEN) == ""


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("## When to use", ""),
        ("## When to use\n", ""),
        ("when to use\nno heading\n", ""),
        ("#When to use\nno space\n", ""),
        ("####### When to use\nseven\n", ""),
        ("    # When to use\nindented code\n", ""),
        ("   # When to use\nyes\n", "yes"),
        ("# When to use\nyes\n### Below\nno\n", "yes"),
        ("# When to use\none\n# When to use\ntwo\n", "one"),
        ("# When to use\n```sh\n# not a heading\n```\nyes\n# Next\n", "```sh\n# not a heading\n```\nyes"),
        ("```\n# When to use\n```\nno\n", ""),
        ("<!--\n# When to use\nno\n-->\n# When to use\nyes\n", "yes"),
        ("# When to use\r\nyes\r\n# Next\r\n", "yes"),
    ],
)
def test_what_a_section_is(body: str, text: str) -> None:
    assert section(body, WHEN) == text


@given(st.text(st.sampled_from("# \n`~<!->when touse\t\r\u2028"), max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_body_gives_pieces_of_itself(body: str) -> None:
    assert section(body, WHEN) in body
    assert first_prose(body) in body


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("", ""),
        ("# Title\n", ""),
        ("Sort it. Then wipe it.\n", "Sort it."),
        ("# Title\n\nSort the\ndesk first.\tThen wipe it.\n", "Sort the desk first."),
        ("No end\n\nAnother paragraph.\n", "No end"),
        ("No end\n- a list\n", "No end"),
        ("Read a.md or e.g. b.md! Stop.", "Read a.md or e.g. b.md!"),
        ("Is it done? Ask.", "Is it done?"),
        ("先整理桌子。再擦。", "先整理桌子。"),
        ("- Sort it. Wipe it.\n- Go.\n", "Sort it."),
        ("1. Sort it. Wipe it.\n", "1. Sort it."),
    ],
)
def test_the_first_sentence(body: str, sentence: str) -> None:
    assert first_sentence(body) == sentence


@given(st.sampled_from(("", "# a\n", "- a\n\n", "```\na\n```\n")), st.text(st.sampled_from("ab.?。 \n\t"), max_size=60))
@settings(max_examples=200, deadline=None)
def test_the_first_sentence_begins_the_first_paragraph(above: str, text: str) -> None:
    paragraph = " ".join(re.split(r"\n\s*\n", text.strip())[0].split())
    sentence = first_sentence(above + text)
    if paragraph:
        assert sentence
        assert paragraph.startswith(sentence)
    else:
        assert sentence == first_prose(above)
