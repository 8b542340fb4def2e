"""One size of library, laid out so that Whet and every peer find the same skills where they look for them."""

from __future__ import annotations

import os
from typing import NamedTuple

from trees import Tree, make_tree

_NOWHERE = "http://127.0.0.1:9"
"""A proxy that refuses: whoever asks the network gets an error at once."""
_TYPICAL = 10_000
"""Bytes of the skill that is opened, so that every size opens the same amount."""


class Scene(NamedTuple):
    """Everything needed to measure one size."""

    directory: str
    tree: Tree
    """With categories, in `home/.agents/skills`."""
    flat: Tree
    """The same skills directly below one directory."""
    name: str
    """The skill that is opened."""

    @property
    def home(self) -> str:
        """The home in which Whet and everybody without a home of their own run."""
        return os.path.join(self.directory, "home")

    @property
    def state(self) -> str:
        """Whet's state directory."""
        return os.path.join(self.directory, "state")

    def env(self, home: str = "", **more: str) -> dict[str, str]:
        """A small environment with its home in the scene, telemetry off and the network out of reach."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "SYSTEMROOT") if key in os.environ}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
        quiet = {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "NO_COLOR": "1"}
        return {**kept, **proxies, **quiet, "HOME": home or self.home, "WHET_HOME": self.state, **more}

    def hermes_env(self) -> dict[str, str]:
        """The environment in which hermes-agent finds the tree."""
        home = self._linked_home("hermes", "skills", self.tree)
        return self.env(home, HERMES_HOME=home)

    def npm_env(self, name: str, place: str) -> dict[str, str]:
        """The environment in which a peer that looks in `place` of its home finds the flat tree."""
        return self.env(self._linked_home(name, place, self.flat))

    def _linked_home(self, name: str, place: str, tree: Tree) -> str:
        home = os.path.join(self.directory, name)
        link = os.path.join(home, *place.split("/"))
        if not os.path.islink(link):
            os.makedirs(os.path.dirname(link))
            os.symlink(tree.root, link)
        return home


def make_scene(directory: str, size: int) -> Scene:
    """Generate the trees of one size."""
    tree = make_tree(os.path.join(directory, "home", ".agents", "skills"), size)
    flat = make_tree(os.path.join(directory, "flat"), size, flat=True)
    os.makedirs(os.path.join(directory, "state"))
    sizes = [abs(os.path.getsize(os.path.join(path, "SKILL.md")) - _TYPICAL) for path in tree.directories]
    return Scene(directory, tree, flat, tree.names[sizes.index(min(sizes))])
