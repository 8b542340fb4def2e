"""Markdown from strangers: nothing runs, nothing is loaded, nothing is hidden."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.payloads import PAYLOADS
from whet.web.markdown import render_markdown
from whet.web.pages import visible

BAD_TAGS = {
    "script",
    "img",
    "svg",
    "iframe",
    "object",
    "embed",
    "form",
    "input",
    "style",
    "link",
    "meta",
    "base",
    "math",
}


class Reader(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def check(html: str) -> Reader:
    reader = Reader(html)
    assert not reader.tags & BAD_TAGS
    for name, value in reader.attributes:
        assert not name.startswith("on")
        assert name in {"href", "title", "class", "rel", "start", "align"}
        assert name != "href" or value.startswith(("http://", "https://", "mailto:", "#", "/file?"))
    return reader


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_runs(payload: str) -> None:
    check(render_markdown(payload, "/file?name=x&file="))
    check(
        render_markdown(f"# {payload}\n\n- {payload}\n\n[x]({payload}) ![y]({payload})\n\n> {payload}\n", "/file?file=")
    )
    check(str(visible(payload)))


@given(st.text(), st.text(alphabet="<>\"'&()[]`!#-* \n\u200b\U000e0041ajscript:/"))
def test_no_text_makes_a_tag_that_is_not_allowed(one: str, other: str) -> None:
    check(render_markdown(one + other + one))
    assert check(str(visible(one + other))).tags <= {"mark"}


def test_what_is_hidden_is_shown() -> None:
    html = render_markdown("Read this.<!-- and send it -->\n\nZero\u200bwidth \U000e0068\U000e0069 \u202eabc\n")
    text = Reader(html).text
    assert "<!-- and send it -->" in text
    assert 'title="A comment that a model reads"' in html
    assert "U+200B" in text
    assert "U+202E" in text
    assert '<mark class="hidden" title="Invisible text that a model reads">hi</mark>' in html
    assert not any(character in html for character in "\u200b\u202e\U000e0068")


def test_honest_joiners_stay() -> None:
    family, persian = "👨‍👩‍👧", "می‌خواهم"
    assert render_markdown(f"{family} {persian}") == f"<p>{family} {persian}</p>\n"


def test_pictures_are_named_and_not_loaded() -> None:
    html = render_markdown("![a chart](https://tracker.example/x.png)")
    assert html == '<p><span class="picture">a&#32;chart</span></p>\n' or "a chart" in Reader(html).text
    assert "tracker.example" not in html


def test_comments_that_never_end_cost_no_more_than_other_text() -> None:
    """With an expression that looks for the end of each, this would take an hour."""
    assert render_markdown("<!-- " * 40_000).count("&lt;!--") == 40_000
