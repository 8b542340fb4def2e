"""What a skill's variables and inline commands mean in one library: the bridge from a place on disk to rendering."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.library.disclosure import trust
from whet.prompt.rendering import Rendered, Scene, render

if TYPE_CHECKING:
    from whet.library.disclosure import Opened
    from whet.library.lookout import Lookout, Survey
    from whet.prompt.shell import Runner, Shell


def scene_of(opened: Opened, lookout: Lookout, survey: Survey, session_id: str = "") -> Scene:
    """The scene of one skill."""
    root = opened.card.root
    plugin = ""
    if root.namespace:
        plugin = os.path.dirname(root.path) if os.path.basename(root.path) == "skills" else root.path
    return Scene(
        skill_dir=opened.card.directory,
        skill_name=opened.card.full_name,
        session_id=session_id,
        project_dir=survey.repository.root if survey.repository else lookout.place.directory,
        plugin_root=plugin,
        effort=opened.skill.execution.effort,
    )


def shell_of(opened: Opened, lookout: Lookout, survey: Survey, runner: Runner | None = None) -> Shell | None:
    """What runs the skill's inline commands: nothing, unless the settings allow it for how far the skill is trusted."""
    if trust(opened.card) not in survey.settings.inline_shell:
        return None
    from whet.prompt.shell import LocalRunner, Shell, allowed_environment

    env = allowed_environment(lookout.place.env)
    return Shell(runner or LocalRunner(), lookout.place.directory, env, opened.skill.execution.shell or "bash")


def render_skill(opened: Opened, scene: Scene, *, arguments: str | None = None, shell: Shell | None = None) -> Rendered:
    """The skill's body as the model reads it."""
    skill = opened.skill
    return render(skill.body, scene, names=skill.arguments, arguments=arguments, shell=shell)
