"""What a person decides: what to trust, what to switch off, what to leave as it is, what goes together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError, WhetError
from whet.library.visibility import PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.api.sources import SkillSources
    from whet.learning.curating import Curating
    from whet.library.workspace import Workspace
    from whet.notes import Note
    from whet.prompt.bundles import Bundle
    from whet.store.locks import FileLock

_LOCK_SECONDS = 10.0


class SkillSettings:
    """What a person decides about the skills of one place."""

    def __init__(
        self, workspace: Workspace, sources: Callable[[], SkillSources], curator: Callable[[], Curating]
    ) -> None:
        self._workspace = workspace
        self._sources = sources
        self._curator = curator

    # decisions

    def trusted(self) -> dict[str, Any]:
        """Every repository that is trusted, and since when: {identity, path, since}."""
        from whet.library.deciding import list_trusted

        return list_trusted(self._workspace)

    def trust(self) -> dict[str, Any]:
        """Trust the repository around the project directory; its skills are loaded from now on.

        They are scanned first; what the guard does not let in stays hidden, and `verdicts` has all of it. `review`
        tells the same beforehand. Raises UsageError `no-project` where there is nothing to trust.
        """
        from whet.library.deciding import set_trust

        return set_trust(self._workspace, trusted=True)

    def untrust(self, path: str | None = None) -> dict[str, Any]:
        """Take that trust back; with a `path`, from the repository trusted under it, which may be gone by now."""
        from whet.library.deciding import set_trust, untrust_path

        return set_trust(self._workspace, trusted=False) if path is None else untrust_path(self._workspace, path)

    def enable(self, name: str, surface: str = "") -> dict[str, Any]:
        """Offer a skill again, everywhere or on one surface.

        `enabled` is false, and `hint` says why, where a settings file still switches it off.
        """
        from whet.library.deciding import set_enabled

        return set_enabled(self._workspace, name, surface, enabled=True)

    def disable(self, name: str, surface: str = "") -> dict[str, Any]:
        """Stop offering a skill, everywhere or on one surface, such as `cli`. It stays on disk."""
        from whet.library.deciding import set_enabled

        return set_enabled(self._workspace, name, surface, enabled=False)

    # pins

    def pin(self, name: str, reason: str = "") -> dict[str, Any]:
        """Leave this skill as it is: updates and the curator pass it by until `unpin`."""
        card, _ = self._workspace.find(name)
        changed = self._sources().set_pin(card.directory, card.name, reason or "yes")
        answer = self._curator().pin(name, reason)
        return {**answer, "changed": changed or answer["changed"]}

    def unpin(self, name: str) -> dict[str, Any]:
        """Treat this skill, which may be gone by now, like any other again."""
        try:
            directory = self._workspace.find(name)[0].directory
        except WhetError:
            directory = ""
        changed = self._sources().set_pin(directory, name, "")
        answer = self._curator().unpin(name)
        return {**answer, "changed": changed or answer["changed"]}

    # bundles

    def bundles(self) -> dict[str, Any]:
        """The bundles: named sets of skills with an instruction, asked for as `/name`.

        `bundles` are {name, slug, description, skills, instruction, path}; `report` says what is wrong with files.
        """
        bundles, report = self._bundles()
        return {
            "success": True,
            "bundles": [bundle.to_json() for bundle in bundles],
            "report": [entry.to_json() for entry in report],
        }

    def bundle(self, name: str) -> dict[str, Any]:
        """One bundle, and which of its skills cannot be had (`missing`). Raises NotFoundError."""
        from whet.prompt.bundles import find_bundle

        return self._shown(find_bundle(self._bundles()[0], name))

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
        from whet.prompt.asking import menu_of
        from whet.prompt.bundles import save_bundle

        directory = self._bundle_directory(project=project)
        with self._one_writer():
            bundle = save_bundle(
                directory,
                name=name,
                skills=skills,
                description=description,
                instruction=instruction,
                overwrite=overwrite,
            )
        report = [
            entry.to_json()
            for entry in menu_of(self._workspace, self._workspace.snapshot(), PERSON).report
            if entry.path == bundle.path or entry.message.startswith(f"/{bundle.slug} means the bundle ")
        ]
        return {**self._shown(bundle), "report": report}

    def remove_bundle(self, name: str, *, project: bool = False) -> dict[str, Any]:
        """Take a bundle of the user's, or of the project, out of use; its file is kept under another name."""
        from whet.prompt.bundles import find_bundle, read_bundles, remove_bundle

        with self._one_writer():
            bundle = find_bundle(read_bundles((self._bundle_directory(project=project),))[0], name)
            kept = remove_bundle(bundle)
        return {"success": True, **bundle.to_json(), "kept": kept}

    def _bundles(self) -> tuple[tuple[Bundle, ...], tuple[Note, ...]]:
        from whet.prompt.asking import bundle_directories
        from whet.prompt.bundles import read_bundles

        return read_bundles(bundle_directories(self._workspace, self._workspace.snapshot()))

    def _shown(self, bundle: Bundle) -> dict[str, Any]:
        from whet.prompt.asking import lacking

        missing = [item._asdict() for item in lacking(bundle, self._workspace.snapshot(), PERSON)]
        return {"success": True, **bundle.to_json(), "missing": missing}

    def _bundle_directory(self, *, project: bool) -> str:
        from whet.prompt.asking import bundle_directories

        snapshot = self._workspace.snapshot()
        if project and (snapshot.config.repository is None or not snapshot.config.trusted):
            hint = "Run `whet trust` in the project first."
            raise UsageError("no-project", "There is no trusted project here for a bundle.", hint=hint)
        return bundle_directories(self._workspace, snapshot)[0 if project else -1]

    def _one_writer(self) -> FileLock:
        """One writer of bundles at a time."""
        from whet.store.locks import FileLock, lock_path

        return FileLock(lock_path(self._workspace.place.state, "bundles", "bundles"), timeout=_LOCK_SECONDS)

    # places

    def roots(self) -> dict[str, Any]:
        """Where skills are looked for, most important first, and how many are in each place.

        `roots` are {path, scope, client, kind, namespace, trusted, real, exists, skills}.
        """
        roots = [
            {**shelf.root.to_json(), "exists": os.path.isdir(shelf.root.real), "skills": sum(1 for _ in shelf.cards())}
            for shelf in self._workspace.snapshot().shelves
        ]
        return {"success": True, "roots": roots}
