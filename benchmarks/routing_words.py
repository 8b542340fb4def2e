"""The words that the lexical baselines compare.

Not the product's: the baselines stay what they are when the product learns. Identifiers are split at every
sign and where small letters meet capitals, the latter also stay whole. Words are stemmed, frequent English ones left
out, and runs of Chinese, Japanese and Korean signs become pairs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from routing_data import need

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 4096
"""Characters of a message that are read."""
_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
RUN = re.compile(rf"[{_WIDE}]+|[^\W_{_WIDE}]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\dA-Za-z_]+|\d+")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)
COMMON = frozenset(
    re.findall(
        r"\w+",
        """a an the and or of to in for on with by is are be it its this that these those i my me we our you your as at
        from do does did can could should would will how what which when where why if not no so have has had want need
        please help just like get use using into there was were been im ve ll re s t don some any also""",
    )
)


def splitter() -> Callable[[str], list[str]]:
    """A function from a text to its words."""
    stem: Callable[[str], str] = need("Stemmer", "PyStemmer").Stemmer("english").stemWord
    known: dict[str, str] = {}

    def stemmed(word: str) -> str:
        if word not in known:
            known[word] = stem(word)
        return known[word]

    def words(text: str) -> list[str]:
        found: list[str] = []
        for match in RUN.finditer(text):
            run = match.group()
            if run[0] >= "\u3040":
                found.extend(run[at : at + 2] for at in range(max(1, len(run) - 1)))
                continue
            small = run.lower()
            if small not in COMMON:
                found.append(stemmed(small))
            parts = _CAMEL.findall(run)
            if len(parts) > 1:
                found.extend(stemmed(part.lower()) for part in parts if part.lower() not in COMMON)
        return found

    return words


def headings(body: str) -> str:
    """The headings of a Markdown text, one on each line."""
    return "\n".join(_HEADING.findall(body))
