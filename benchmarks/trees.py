"""Trees of generated skills to measure on: real sizes, the mix of frontmatter seen in the wild, always the same.

    python benchmarks/trees.py DIRECTORY --count 1000 --seed 7 [--flat] [--small]

Skills lie in categories of about 25 (`DIRECTORY/category/name/SKILL.md`), or with `--flat` all directly below the
directory, for programs that look no deeper. Descriptions have 160 to 1,000 characters, bodies 2 to 20 KB, and three of
five skills have supporting files. With `--small` descriptions have 60 to 300 characters, bodies 200 to 1,500, and three
of ten have other files: for trees of very many.
"""

from __future__ import annotations

import argparse
import itertools
import os
import textwrap
from random import Random
from typing import NamedTuple

from prose import CONTEXTS, QUALITIES, SUBJECTS, VERBS, Prose

PER_CATEGORY = 25
SEED = 20260

STYLES = {
    "plain": 55,
    "folded": 12,
    "literal": 3,
    "double-quoted": 9,
    "single-quoted": 3,
    "tags": 6,
    "flow-tags": 1,
    "metadata": 6,
    "tools": 5,
}
"""How frontmatter is written, in percent."""
TOOLS = ("Read", "Write", "Edit", "Grep", "Glob", "Bash(git:*)", "WebFetch")
SUPPORT = ("references/{}.md", "scripts/{}.py", "assets/{}.txt", "templates/{}.md", "examples/{}.md")


class Tree(NamedTuple):
    """A generated tree."""

    root: str
    names: tuple[str, ...]
    directories: tuple[str, ...]
    """The skills' directories, in the order of `names`."""
    files: int
    body_bytes: int
    """Size of all main files together."""


def make_tree(root: str, count: int, seed: int = SEED, *, flat: bool = False, small: bool = False) -> Tree:
    """Write `count` skills below `root`. The flat tree holds the same skills as the one with categories."""
    random = Random(f"{seed}/{count}")
    names = _names(random, count)
    places = [name if flat else f"{_category(number)}/{name}" for number, name in enumerate(names)]
    files, size = 0, 0
    for place, name in zip(places, names, strict=True):
        for path, text in skill_files(name, Random(f"{seed}/{name}"), small=small).items():
            data = text.encode()
            _write(os.path.join(root, place, path), data)
            files += 1
            size += len(data) if path == "SKILL.md" else 0
    return Tree(root, tuple(names), tuple(os.path.join(root, place) for place in places), files, size)


def skill_files(name: str, random: Random, *, small: bool = False) -> dict[str, str]:
    """The files of one skill by path."""
    prose = Prose(random)
    title = name.replace("-", " ").capitalize()
    lengths = (random.randint(160, 300), random.randint(300, 600), random.randint(600, 1000))
    length = random.randint(60, 300) if small else random.choices(lengths, (6, 3, 1))[0]
    description = prose.description(f"{title} tasks, from the first look to a checked result.", length)
    style = random.choices(tuple(STYLES), tuple(STYLES.values()))[0]
    size = random.randint(200, 1_500) if small else int(random.triangular(2_000, 20_000, 8_000))
    files = {"SKILL.md": f"---\n{frontmatter(style, name, description, random)}---\n\n{prose.body(title, size)}"}
    if random.random() < (0.3 if small else 0.6):
        for number in range(random.randint(1, 2 if small else 4)):
            path = random.choice(SUPPORT).format(f"{random.choice(VERBS)}-{number}")
            files[path] = prose.body(f"Notes on {name}", random.randint(500, 600 if small else 6_000))
    return files


def frontmatter(style: str, name: str, description: str, random: Random) -> str:
    """The lines between the fences, written in one of STYLES."""
    lines = [f"name: {name}", f"description: {description}"]
    if style in ("folded", "literal"):
        rows = textwrap.wrap(description, 100, break_on_hyphens=False)
        lines[1] = "\n  ".join(
            (f"description: {'>' if style == 'folded' else '|'}{random.choice('- ').strip()}", *rows)
        )
    elif style == "double-quoted":
        lines[1] = f'description: "When to use: {description}"'
    elif style == "single-quoted":
        lines[1] = f"description: 'When to use: {description}'"
    elif style == "tags":
        lines += ["tags:", *(f"  - {word}" for word in random.sample(CONTEXTS, 3))]
    elif style == "flow-tags":
        lines += [f"tags: [{', '.join(random.sample(CONTEXTS, 3))}]"]
    elif style == "metadata":
        lines += ["metadata:", *random.choice(_METADATA)(random)]
    elif style == "tools":
        lines += ["allowed-tools:", *(f"  - {tool}" for tool in random.sample(TOOLS, 3))]
    if random.random() < 0.35:
        lines.append(f"license: {random.choice(('MIT', 'Apache-2.0', 'Complete terms in LICENSE.txt'))}")
    if random.random() < 0.3:
        lines.append(f"version: {random.randint(0, 3)}.{random.randint(0, 12)}.{random.randint(0, 9)}")
    if random.random() < 0.12:
        lines.append(f"allowed-tools: {', '.join(random.sample(TOOLS, 2))}" if style != "tools" else "author: Example")
    return "\n".join(lines) + "\n"


def _flat_metadata(random: Random) -> list[str]:
    return ["  author: Example", f'  version: "1.{random.randint(0, 20)}"', f"  category: {random.choice(CONTEXTS)}"]


def _hermes_metadata(random: Random) -> list[str]:
    tags = "\n".join(f"      - {word}" for word in random.sample(CONTEXTS, 2))
    return ["  hermes:", "    tags:", tags, f"    category: {random.choice(QUALITIES)}"]


def _openclaw_metadata(random: Random) -> list[str]:
    return ["  openclaw:", "    requires:", "      bins:", f"        - {random.choice(CONTEXTS)}"]


_METADATA = (_flat_metadata, _flat_metadata, _hermes_metadata, _openclaw_metadata)


def _names(random: Random, count: int) -> list[str]:
    every = len(VERBS) * len(SUBJECTS) * len(CONTEXTS)
    editions = [""] + [f"-{number}" for number in range(2, -(-count // every) + 1)]
    combinations = itertools.product(editions, VERBS, SUBJECTS, CONTEXTS)
    chosen = set(random.sample(range(every * len(editions)), count))
    names = [f"{'-'.join(parts)}{edition}" for number, (edition, *parts) in enumerate(combinations) if number in chosen]
    random.shuffle(names)
    return names


def _category(number: int) -> str:
    group = number // PER_CATEGORY
    return f"{SUBJECTS[group % len(SUBJECTS)]}-{group}"


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("directory")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--flat", action="store_true", help="no categories")
    parser.add_argument("--small", action="store_true", help="small skills")
    options = parser.parse_args()
    tree = make_tree(options.directory, options.count, options.seed, flat=options.flat, small=options.small)
    print(f"{len(tree.names):,} skills, {tree.files:,} files, {tree.body_bytes / 1e6:.1f} MB of SKILL.md")


if __name__ == "__main__":
    main()
