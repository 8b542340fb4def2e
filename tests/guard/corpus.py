"""The corpus of pairs: packages that carry a danger, each beside a twin that does not. All of it is inert text.

A file of a package is a string, or a mapping that says how its bytes are made: `{text, encoding}`, `{base64}`, `{hex}`,
`{zip: files}`, `{tar: files}`, `{gzip: file}`, `{parts: [files]}` (one after the other), `{repeat: file, times}`,
`{link: target}`, `{executable: file}`.
"""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from whet.skill.tree import Item, Tree

CORPUS = Path(__file__).parents[1] / "corpus"


class Pair(NamedTuple):
    """A danger and its twin."""

    id: str
    pack: str
    expect: str
    """The least verdict of the bad one."""
    rules: tuple[str, ...]
    """Found in the bad one, absent from the good one."""
    bad: Tree
    good: Tree
    missed: str = ""
    """Why the pair does not come out as it should yet."""


def content(value: Any) -> bytes:
    """The bytes that a file of the corpus describes."""
    match value:
        case str():
            return value.encode()
        case {"text": text, "encoding": encoding}:
            return str(text).encode(encoding)
        case {"base64": text}:
            return base64.b64decode(text)
        case {"hex": text}:
            return bytes.fromhex(text)
        case {"zip": files}:
            room = io.BytesIO()
            with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, inner in files.items():
                    archive.writestr(name, content(inner))
            return room.getvalue()
        case {"tar": files}:
            room = io.BytesIO()
            with tarfile.open(fileobj=room, mode="w") as tar:
                for name, inner in files.items():
                    data = content(inner)
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
            return room.getvalue()
        case {"gzip": inner}:
            return gzip.compress(content(inner), mtime=0)
        case {"parts": parts}:
            return b"".join(map(content, parts))
        case {"repeat": inner, "times": times}:
            return content(inner) * int(times)
        case _:
            raise AssertionError(f"not a file of the corpus: {value!r}")


def item(value: Any) -> Item:
    """One file or link of a package."""
    match value:
        case {"link": target}:
            return Item(str(target).encode(), link=True)
        case {"executable": inner}:
            return Item(content(inner), executable=True)
        case _:
            return Item(content(value))


@lru_cache(maxsize=1)
def pairs() -> tuple[Pair, ...]:
    """Every pair of the corpus."""
    found = []
    for path in sorted(CORPUS.glob("*.yaml")):
        for entry in yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            trees = ({name: item(value) for name, value in entry[side].items()} for side in ("bad", "good"))
            bad, good = trees
            rules, missed = tuple(entry.get("rules", ())), entry.get("missed", "")
            found.append(Pair(entry["id"], path.stem, entry["expect"], rules, bad, good, missed))
    return tuple(found)
