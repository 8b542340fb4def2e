from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from whet.errors import UsageError
from whet.library.settings import (
    SCOPES,
    SETTINGS,
    Settings,
    config_path,
    expand,
    read_project_settings,
    read_settings,
)
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


HOME = "/home/someone"


def written(tmp_path: Path, text: str) -> tuple[Settings, tuple[Note, ...]]:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return read_settings(str(path), home=HOME)


def test_the_table_of_settings_is_the_settings() -> None:
    defaults = Settings()
    assert [setting.name for setting in SETTINGS] == list(Settings._fields)
    for setting in SETTINGS:
        value = getattr(defaults, setting.name)
        assert (dict(value) if isinstance(setting.default, dict) else value) == setting.default, setting.name
        assert setting.help.endswith(".")


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert read_settings(str(tmp_path / "config.toml"), home=HOME) == (Settings(), ())


def test_everything_can_be_set(tmp_path: Path) -> None:
    settings, notes = written(
        tmp_path,
        """
        precedence = ["external", "org", "user", "project"]
        clients = ["claude-code"]
        external = ["~/skills", "beside", "/else/where/"]
        links = ["~"]
        disabled = ["deploy"]
        project_skills = false
        depth = 3
        max_directories = 10
        [plugins]
        acme = "~/acme"
        [disabled_on]
        mcp = ["draw"]
        """,
    )
    assert notes == ()
    assert settings == Settings(
        precedence=SCOPES[::-1],
        clients=("claude-code",),
        external=("/home/someone/skills", str(tmp_path / "beside"), "/else/where"),
        plugins=(("acme", "/home/someone/acme"),),
        links=("/home/someone",),
        disabled=("deploy",),
        disabled_on=(("mcp", ("draw",)),),
        project_skills=False,
        depth=3,
        max_directories=10,
    )


def test_what_an_earlier_version_could_set_is_read_and_said(tmp_path: Path) -> None:
    lines = ["bundled_skills = false", 'inline_shell = ["builtin", "local"]']
    settings, notes = written(
        tmp_path, "\n".join([*lines, 'precedence = ["user", "bundled", "project", "org", "external"]'])
    )
    assert settings == Settings(inline_shell=("local",), precedence=("user", "project", "org", "external"))
    hint = "Delete the line. `whet gallery` lists the skills that ship with Whet; add those you want."
    message, path = "bundled_skills no longer has an effect.", str(tmp_path / "config.toml")
    assert notes == (Note("retired-setting", "info", message, hint, path=path),)


BAD = {
    "precedence": '["user"]',
    "clients": '["a", 3]',
    "external": "[1]",
    "plugins": "{a = 1}",
    "links": "true",
    "disabled": "3",
    "disabled_on": "{mcp = 3}",
    "listing": '{often = ["a"]}',
    "use": "7",
    "project_skills": "1",
    "inline_shell": '["everything"]',
    "sandbox": '"sometimes"',
    "policy": '{community = {caution = "maybe"}}',
    "trusted_sources": "[1]",
    "private_hosts": "{}",
    "min_age": '"soon"',
    "require_signature": '"yes"',
    "auto_update": '"always"',
    "network_timeout": "0",
    "skill_settings": "[]",
    "exact_tokens": "0",
    "model": "5",
    "models": "{sonnet = 1}",
    "run_on": "[]",
    "run_days": "-1",
    "mcp_servers": "[1]",
    "learn": '"often"',
    "stage_writes": "1",
    "stale_days": "1.5",
    "archive_days": "true",
    "depth": "0",
    "max_directories": "-1",
}
"""A bad value for each setting."""


def test_a_bad_value_of_any_setting_is_said_with_how_to_write_it(tmp_path: Path) -> None:
    assert [*BAD] == [setting.name for setting in SETTINGS]
    file = str(tmp_path / "config.toml")
    for name, value in BAD.items():
        try:
            settings, (note,) = written(tmp_path, f"{name} = {value}")
        except UsageError as error:
            said = error.code, error.message, error.hint
            assert said[:2] == ("bad-config", f"{name} in {file} is {tomllib.loads(f'x = {value}')['x']!r}.")
            assert name in ("disabled", "disabled_on", "listing", "min_age", "policy")
        else:
            said = note.code, note.message, note.hint
            assert (said[0], note.severity, note.path) == ("bad-setting", "warning", file)
            assert said[1].startswith(f"{name} is ")
            assert settings == Settings(learn="off" if name == "learn" else "propose")
        assert f"`{name}`" in said[2] and said[2].endswith(".")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('precedence = ["user", "user", "org", "external"]', "a list of all of these, in your order: project, "),
        ("clients = 3", "a list of quoted names."),
        ("plugins = ['a']", "a table of names, each with a quoted path."),
        ("depth = true", "a whole number of at least 1."),
        ("depth = 1.5", "a whole number of at least 1."),
        ("run_days = 4000", "a whole number of days, from 0 to 3,650."),
    ],
)
def test_a_value_of_the_wrong_kind_is_reported_and_the_default_used(tmp_path: Path, line: str, wanted: str) -> None:
    settings, (note,) = written(tmp_path, line)
    assert (settings, note.code) == (Settings(), "bad-setting")
    assert note.hint.startswith(f"Write `{line.split(maxsplit=1)[0]}` as {wanted}")


@pytest.mark.parametrize(
    "line", ["disabled = 3", 'disabled = ["a", 3]', "disabled_on = ['a']", "disabled_on = {mcp = 3}"]
)
def test_what_is_meant_to_hide_skills_is_never_left_out(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        written(tmp_path, line)
    assert (caught.value.code, caught.value.hint.endswith("list of quoted names.")) == ("bad-config", True)


def test_clients_are_known_by_the_names_they_had_and_by_others(tmp_path: Path) -> None:
    settings, notes = written(tmp_path, 'clients = ["claude", "Gemini CLI", "agents", "codex-system", "gemni"]')
    assert settings.clients == ("claude-code", "gemini", "agents", "codex", "gemni")
    assert [(note.code, note.severity, note.message, note.hint) for note in notes] == [
        (
            "former-client",
            "info",
            "clients names 'claude', which is called 'claude-code' now; it counts as 'claude-code'.",
            "Write 'claude-code' instead.",
        ),
        (
            "former-client",
            "info",
            "clients names 'codex-system', which is called 'codex' now; it counts as 'codex'.",
            "Write 'codex' instead.",
        ),
        ("unknown-client", "warning", "clients: There is no client 'gemni'.", "Did you mean gemini?"),
    ]


def test_one_name_is_a_list_of_one(tmp_path: Path) -> None:
    settings, notes = written(tmp_path, 'disabled = "deploy"\ndisabled_on = {mcp = "draw"}')
    assert (settings.disabled, settings.disabled_on, notes) == (("deploy",), (("mcp", ("draw",)),), ())


def test_a_setting_nobody_knows_is_reported(tmp_path: Path) -> None:
    settings, (note,) = written(tmp_path, 'disable = ["deploy"]')
    assert settings == Settings()
    assert (note.code, note.message) == ("unknown-setting", "disable is not a setting.")
    assert "disabled" in note.hint


@pytest.mark.parametrize("content", [b"disabled = [", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_settings(str(path), home=HOME)
    assert caught.value.code == "bad-config"
    assert str(path) in caught.value.message


def test_a_file_that_is_too_long_or_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("stale_days = 20\n" + "#" * (1 << 20))
    with pytest.raises(UsageError) as caught:
        read_settings(str(path), home=HOME)
    message = f"{path} is larger than 1,048,576 bytes and is ignored."
    assert (caught.value.code, caught.value.message) == ("bad-config", message)
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError) as caught:
        read_settings(str(path), home=HOME)
    message = f"{path} cannot be read: No such file or directory."
    assert (caught.value.code, caught.value.message) == ("bad-config", message)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, unprivileged: Callable[[str], Any]) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(UsageError) as caught:
        read_settings(str(tmp_path / "config.toml"), home=HOME)
    assert caught.value.code == "bad-config"
    assert unprivileged("""
os.mkdir(top + "/state")
open(top + "/state/config.toml", "w").close()
os.chmod(top + "/state/config.toml", 0)
try:
    library().skills()
except WhetError as error:
    answer = [error.code, error.message.replace(top, "TOP")]
""") == ["bad-config", "TOP/state/config.toml cannot be read: Permission denied."]


def test_a_project_may_only_narrow(tmp_path: Path) -> None:
    (tmp_path / ".whet.toml").write_text(
        'disabled = ["deploy"]\nexternal = ["/etc"]\nprecedence = ["project"]\nodd = 1\n'
    )
    settings, notes = read_project_settings(str(tmp_path), home=HOME)
    assert settings == Settings(disabled=("deploy",), learn="")
    assert [(note.code, note.message) for note in notes] == [
        ("unknown-setting", "external is ignored: a project cannot set it."),
        ("unknown-setting", "precedence is ignored: a project cannot set it."),
        ("unknown-setting", "odd is not a setting."),
    ]


@pytest.mark.parametrize("value", ["false", "true", '"none"', "[]", '""', "3"])
def test_nothing_is_learned_where_nobody_understands_how_much(tmp_path: Path, value: str) -> None:
    (tmp_path / "config.toml").write_text(f"learn = {value}\n")
    (tmp_path / ".whet.toml").write_text(f"learn = {value}\n")
    settings, (note,) = read_settings(str(tmp_path / "config.toml"), home=HOME)
    assert (settings.learn, note.code, note.hint) == (
        "off",
        "bad-setting",
        "Write `learn` as one of off, note, propose, write, in quotes.",
    )
    assert note.message.endswith("; it counts as 'off'.")
    assert read_project_settings(str(tmp_path), home=HOME)[0].learn == "off"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "/state/config.toml"),
        ({"WHET_CONFIG": ""}, "/state/config.toml"),
        ({"WHET_CONFIG": "/x/y.toml"}, "/x/y.toml"),
        ({"WHET_CONFIG": "~/y.toml", "HOME": "/h"}, "/h/y.toml"),
        ({"WHET_CONFIG": "~/y.toml", "USERPROFILE": r"C:\h"}, r"C:\h/y.toml"),
    ],
)
def test_where_the_settings_lie(env: dict[str, str], expected: str) -> None:
    assert config_path("/state", env) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("~", "/h"), ("~/a", "/h/a"), ("~\\a", "/h\\a"), ("~other/a", "~other/a"), ("a/~", "a/~")]
)
def test_only_the_own_home_is_expanded(path: str, expected: str) -> None:
    assert expand(path, "/h") == expected


def test_a_policy_is_read_cell_by_cell(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'trusted_sources = ["acme/skills"]\n[policy]\ncommunity.caution = "ask"\nvendor.dangerous = "block"\n'
    )
    settings, notes = read_settings(str(path), home=HOME)
    assert (settings.trusted_sources, notes) == (("acme/skills",), ())
    assert settings.policy == (("community", "caution", "ask"), ("vendor", "dangerous", "block"))


@pytest.mark.parametrize("text", ["policy = 1", "[policy]\nx = 1", '[policy.x]\nodd = "ask"', "[policy.x]\nsafe = [1]"])
def test_a_policy_that_cannot_be_understood_is_an_error(tmp_path: Path, text: str) -> None:
    for name, read in (("config.toml", read_settings), (".whet.toml", read_project_settings)):
        (tmp_path / name).write_text(text)
        with pytest.raises(UsageError) as caught:
            read(str(tmp_path / name if read is read_settings else tmp_path), home=HOME)
        assert caught.value.code == "bad-config" and "block" in caught.value.hint
