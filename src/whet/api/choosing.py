"""The part of the front door where a person chooses: what to trust, what to switch off, what goes together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.api.routing import Routing

if TYPE_CHECKING:
    from collections.abc import Sequence


class Choosing(Routing):
    """What a person decides about the skills of one place."""

    # decisions

    def trusted(self) -> dict[str, Any]:
        """Every repository that is trusted, and since when: {identity, path, since}."""
        from whet.library.deciding import list_trusted

        return list_trusted(self.workspace)

    def trust(self) -> dict[str, Any]:
        """Trust the repository around the project directory; its skills are loaded from now on.

        They are scanned first; what the guard does not let in stays hidden, and `verdicts` has all of it. `review`
        tells the same beforehand. Raises UsageError `no-project` where there is nothing to trust.
        """
        from whet.library.deciding import set_trust

        return set_trust(self.workspace, trusted=True)

    def untrust(self, path: str | None = None) -> dict[str, Any]:
        """Take that trust back; with a `path`, from the repository trusted under it, which may be gone by now."""
        from whet.library.deciding import set_trust, untrust_path

        return set_trust(self.workspace, trusted=False) if path is None else untrust_path(self.workspace, path)

    def enable(self, name: str, surface: str = "") -> dict[str, Any]:
        """Offer a skill again, everywhere or on one surface.

        `enabled` is false, and `hint` says why, where a settings file still switches it off.
        """
        from whet.library.deciding import set_enabled

        return set_enabled(self.workspace, name, surface, enabled=True)

    def disable(self, name: str, surface: str = "") -> dict[str, Any]:
        """Stop offering a skill, everywhere or on one surface, such as `cli`. It stays on disk."""
        from whet.library.deciding import set_enabled

        return set_enabled(self.workspace, name, surface, enabled=False)

    # bundles

    def bundles(self) -> dict[str, Any]:
        """The bundles: named sets of skills with an instruction, asked for as `/name`.

        `bundles` are {name, slug, description, skills, instruction, path}; `report` says what is wrong with files.
        """
        from whet.prompt.desk import list_bundles

        return list_bundles(self.workspace)

    def bundle(self, name: str) -> dict[str, Any]:
        """One bundle, and which of its skills cannot be had (`missing`). Raises NotFoundError."""
        from whet.prompt.desk import show_bundle

        return show_bundle(self.workspace, name)

    def save_bundle(
        self,
        name: str,
        skills: Sequence[str],
        *,
        description: str = "",
        instruction: str = "",
        project: bool = False,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Write a bundle, for this user or into the project; what it replaces is kept beside it.

        Raises ConflictError where there is one of that name, unless `overwrite` is set, and UsageError `no-project`
        where there is no trusted project. `report` tells of commands that mean something else now.
        """
        from whet.prompt.desk import save_bundle

        what = {"name": name, "skills": skills, "description": description, "instruction": instruction}
        return save_bundle(self.workspace, project=project, overwrite=overwrite, **what)

    def remove_bundle(self, name: str, *, project: bool = False) -> dict[str, Any]:
        """Take a bundle of the user's, or of the project, out of use; its file is kept under another name."""
        from whet.prompt.desk import remove_bundle

        return remove_bundle(self.workspace, name, project=project)
