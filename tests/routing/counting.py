"""A judge that counts shared words: small enough to foresee, real enough to be asked like the router."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.routing.router import Detected, Found

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.routing.evals.suggestions import Kind


class Counting:
    """Two shared words are a must, one is a may, a word that is to be avoided is a no."""

    def __init__(self, texts: Mapping[str, str], avoided: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts)
        self.avoided = dict(avoided or {})
        self.asked = 0

    def find(self, message: str, k: int = 10) -> tuple[Found, ...]:
        found = [Found(key, self.confidence(message, key), ()) for key in self.texts]
        return tuple(sorted((item for item in found if item.score), key=lambda item: (-item.score, item.key))[:k])

    def detect(self, message: str) -> Detected:
        self.asked += 1
        found = self.find(message)
        if not found:
            return Detected("none", None, 0.0, ())
        top, *others = found
        return Detected("must" if top.score > 0.5 else "may", top, top.score, tuple(others))

    def confidence(self, message: str, key: str) -> float:
        heard = _words(message)
        if heard & _words(self.avoided.get(key, "")):
            return 0.0
        shared = len(heard & _words(self.texts[key]))
        return 1.0 - 0.5**shared

    def with_phrase(self, key: str, kind: Kind, phrase: str) -> Counting:
        """The judge as it would be with a phrase added."""
        texts, avoided = dict(self.texts), dict(self.avoided)
        if kind == "use":
            texts[key] += f" {phrase}"
        else:
            avoided[key] = f"{avoided.get(key, '')} {phrase}"
        return Counting(texts, avoided)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
