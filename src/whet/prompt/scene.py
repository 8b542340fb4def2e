"""What a skill's variables and inline commands mean in one library: the bridge from a place on disk to rendering."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.library.disclosure import trust
from whet.prompt.rendering import Rendered, Scene, render

if TYPE_CHECKING:
    from whet.library.config import ResolvedConfig
    from whet.library.disclosure import Opened
    from whet.prompt.shell import Runner, Shell


def scene_of(opened: Opened, config: ResolvedConfig, session_id: str = "") -> Scene:
    """The scene of one skill."""
    root = opened.card.root
    plugin = ""
    if root.namespace:
        plugin = os.path.dirname(root.path) if os.path.basename(root.path) == "skills" else root.path
    return Scene(
        skill_dir=opened.card.directory,
        skill_name=opened.card.full_name,
        session_id=session_id,
        project_dir=config.repository.root if config.repository else config.place.directory,
        plugin_root=plugin,
        effort=opened.skill.execution.effort,
    )


def shell_of(opened: Opened, config: ResolvedConfig, runner: Runner | None = None) -> Shell | None:
    """What runs the skill's inline commands: nothing, unless the settings allow it for how far the skill is trusted.

    They run in a box that shows the skill and the project, unless the settings say otherwise or the caller brings a
    runner.
    """
    if trust(opened.card) not in config.settings.inline_shell:
        return None
    from whet.prompt.shell import LocalRunner, SandboxRunner, Shell, allowed_environment

    place = config.place
    env = allowed_environment(place.env)
    if runner is None and config.settings.sandbox == "off":
        runner = LocalRunner()
    if runner is None:
        from whet.guard.sandbox.box import box_for

        project = (config.repository.root, config.repository.identity) if config.repository else ()
        shown = (opened.card.directory, place.directory, *project, scene_of(opened, config).plugin_root)
        runner = SandboxRunner(box_for(shown=shown, cwd=place.directory, env=env, home=place.home))
    return Shell(runner, place.directory, env, opened.skill.execution.shell or "bash")


def render_skill(opened: Opened, scene: Scene, *, arguments: str | None = None, shell: Shell | None = None) -> Rendered:
    """The skill's body as the model reads it; what its commands ran in is among the notes."""
    skill = opened.skill
    if shell is None or not has_commands(skill.body):
        return render(skill.body, scene, names=skill.arguments, arguments=arguments, shell=shell)
    from whet.prompt.shell import Left, SandboxRunner, Witness

    if isinstance(shell.runner, SandboxRunner) and not shell.runner.works():
        rendered = render(skill.body, scene, names=skill.arguments, arguments=arguments)
        return rendered._replace(notes=tuple(Left.instead(note) for note in rendered.notes))
    witness = Witness(shell.runner)
    rendered = render(
        skill.body, scene, names=skill.arguments, arguments=arguments, shell=shell._replace(runner=witness)
    )
    return rendered._replace(notes=(*rendered.notes, *witness.notes()))


def has_commands(body: str) -> bool:
    """May a body hold commands? Where it surely holds none, nothing has to be found out about the machine."""
    return "!`" in body or "`!" in body
