"""What the tests of the prompt room share: skills that lie nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.library.card import Card
from whet.library.roots import Root
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def card() -> Callable[..., Card]:
    """`card(name, description, ...)` makes one without a disk."""

    def make(
        name: str,
        description: str = "Does it.",
        *,
        root: str = "/skills",
        scope: str = "user",
        plugin: str = "",
        category: str = "",
        when: str = "",
    ) -> Card:
        where = Root(root, scope, namespace=plugin)
        directory = f"{root}/{name}"
        full = f"{plugin}:{name}" if plugin else name
        return Card(
            path=f"{directory}/SKILL.md",
            directory=directory,
            name=name,
            key=key(full),
            description=description,
            category=category,
            kind="skill",
            mtime=0,
            ctime=0,
            size=0,
            inode=0,
            folder=0,
            real="",
            root=where,
            when=when,
        )

    return make
