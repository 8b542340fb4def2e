"""Markdown as safe HTML that hides nothing.

    render_markdown("# Title")  # "<h1>Title</h1>\n"

A model reads comments, raw HTML and invisible characters, so the page shows them, too: HTML is shown as text, and every
invisible character as its code. Pictures are named and never loaded. markdown-it-py renders, nh3 removes everything but
plain text markup from the result.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import nh3
from markdown_it import MarkdownIt

from whet.guard.reading.canonical import INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "mark", "ol", "p"),
    *("pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "mark": {"class", "title"},
    "ol": {"start"},
    "span": {"class"},
    "td": {"align"},
    "th": {"align"},
}
_CLASS = re.compile(r"hidden|picture|language-[\w+#-]{1,30}")
_JOINER = r"(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])"
"""Joiners are legitimate between letters of many scripts and in emoji."""
_INVISIBLE = re.compile(f"(?:(?!{_JOINER})[{INVISIBLE}])+")
_MARKED = re.compile("\ue000([0-9A-F ]+)\ue001")
_COMMENT = re.compile(r"&lt;!--(?:(?!&lt;!--)[^<])*?--&gt;")
_KEPT = 64
"""Number of cached texts; rendering a long one takes tens of milliseconds."""


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    markdown.add_render_rule("image", _name_picture)
    return markdown


def _name_picture(_renderer: object, tokens: Sequence[Token], index: int, *_: object) -> str:
    """Return the description of a picture instead of the picture: loading it would notify its host."""
    token = tokens[index]
    text = nh3.clean_text(token.content or str(token.attrs.get("src", "")))
    return f'<span class="picture">{text}</span>'


def show_invisible(text: str) -> str:
    """Write out every run of invisible characters, between two marks that no text has."""
    text = text.replace("\ue000", "\ufffd").replace("\ue001", "\ufffd")
    return _INVISIBLE.sub(lambda found: f"\ue000{' '.join(f'{ord(each):04X}' for each in found[0])}\ue001", text)


def mark_invisible(html: str) -> str:
    """Turn the runs that `show_invisible` wrote out into marked HTML elements."""
    return _MARKED.sub(lambda found: _mark(found[1]), html)


def _mark(codes: str) -> str:
    characters = [int(code, 16) for code in codes.split()]
    tagged = "".join(chr(each - 0xE0000) for each in characters if 0xE0020 <= each < 0xE007F)
    shown = nh3.clean_text(tagged) if tagged else " ".join(f"U+{each:04X}" for each in characters)
    return f'<mark class="hidden" title="Invisible text that a model reads">{shown}</mark>'


@lru_cache(maxsize=_KEPT)
def render_markdown(text: str, base: str = "") -> str:
    """Render Markdown as HTML; links to files of the same skill lead to `base` and their path."""
    html = _markdown().render(show_invisible(text))
    html = _COMMENT.sub(
        lambda found: f'<mark class="hidden" title="A comment that a model reads">{found[0]}</mark>', html
    )

    def keep(_tag: str, name: str, value: str) -> str | None:
        if name == "href":
            return _link(value, base)
        return value if name != "class" or _CLASS.fullmatch(value) else None

    return nh3.clean(
        mark_invisible(html),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=keep,
        link_rel="noopener noreferrer nofollow",
        url_schemes={"http", "https", "mailto"},
    )


def _link(address: str, base: str) -> str | None:
    """Return the target of a link: the web, a heading, or another file of the skill."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme or address.startswith("#"):
        return address
    if not base or parts.netloc or address.startswith("/"):
        return None
    return base + quote(parts.path.removeprefix("./"))
