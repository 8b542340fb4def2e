"""What the tests of registries share: a fetch context, small skills, and a server that answers from a table."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from whet.library.roots import Place
from whet.skill.archive import pack
from whet.skill.tree import Item
from whet.sources.model import FetchContext, open_source
from whet.sources.refs.parse import ref_trust
from whet.sources.search import Finder, search
from whet.store.cache import CacheDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.notes import Note, Progress
    from whet.sources.model import Ref
    from whet.sources.search import Hit
    from whet.sources.web.client import Web


def reach(
    web: Web, env: Mapping[str, str] | None = None, state: str = "", seen: list[Progress] | None = None
) -> FetchContext:
    """What a source may use: this web, and nothing of this machine."""
    place = Place(state, state, state, "linux", env or {})
    return FetchContext(place, web, threading.Event(), (seen if seen is not None else []).append)


def find(ref: Ref, context: FetchContext, query: str, limit: int) -> tuple[Hit, ...]:
    """What a search of one source finds."""
    finder = Finder(context, open_source, ref_trust, CacheDatabase(context.place.state))
    return search(finder, [("", ref)], query, limit).skills


def main(name: str, description: str = "Does one thing.") -> bytes:
    """A main file."""
    return f"---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n".encode()


def packed(name: str, files: Mapping[str, bytes] | None = None, description: str = "Does one thing.") -> bytes:
    """A `.skill` archive."""
    scripts = {path: Item(data, path.endswith(".sh")) for path, data in (files or {}).items()}
    return pack(name, {"SKILL.md": Item(main(name, description)), **scripts})


def sha256(data: bytes) -> str:
    """The hash of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def dumped(value: Any) -> bytes:
    """JSON as servers send it."""
    return json.dumps(value).encode()


def json_values(keys: Sequence[str], words: Sequence[str]) -> st.SearchStrategy[Any]:
    """Any JSON: with these keys and words in it often enough to get somewhere, and texts that no file could hold."""
    texts = st.text(st.characters(), max_size=8) | st.sampled_from([*keys, *words])
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | texts,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(keys)) | texts, inner, max_size=5)
        ),
        max_leaves=12,
    )


def codes(notes: tuple[Note, ...]) -> list[tuple[str, str]]:
    """What notes are about: code and skill."""
    return [(note.code, note.skill) for note in notes]
