from __future__ import annotations

import os

import pytest

from whet.errors import UsageError
from whet.store.home import user_home, whet_home


@pytest.mark.parametrize(
    ("env", "platform", "expected"),
    [
        ({"HOME": "/home/ada"}, "linux", "/home/ada/.local/share/whet"),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "linux", "/data/whet"),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": "data"}, "linux", "/home/ada/.local/share/whet"),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": ""}, "freebsd14", "/home/ada/.local/share/whet"),
        ({"XDG_DATA_HOME": "/data"}, "linux", "/data/whet"),
        (
            {"HOME": "/Users/ada", "XDG_DATA_HOME": "/data"},
            "darwin",
            "/Users/ada/Library/Application Support/whet",
        ),
        ({"LOCALAPPDATA": r"C:\Users\ada\AppData\Local"}, "win32", r"C:\Users\ada\AppData\Local\whet"),
        ({"USERPROFILE": r"C:\Users\ada"}, "win32", r"C:\Users\ada\AppData\Local\whet"),
        ({"WHET_HOME": "/srv/whet", "HOME": "/home/ada"}, "linux", "/srv/whet"),
        ({"WHET_HOME": "/srv/x/../whet/"}, "darwin", "/srv/whet"),
        ({"WHET_HOME": "", "HOME": "/home/ada"}, "linux", "/home/ada/.local/share/whet"),
        ({"WHET_HOME": "~/whet", "HOME": "/home/ada"}, "linux", "/home/ada/whet"),
        ({"WHET_HOME": "~", "HOME": "/home/ada"}, "linux", "/home/ada"),
        ({"WHET_HOME": "~/state", "USERPROFILE": r"C:\Users\ada"}, "win32", r"C:\Users\ada\state"),
        ({"WHET_HOME": r"~\state", "USERPROFILE": r"C:\Users\ada"}, "win32", r"C:\Users\ada\state"),
    ],
)
def test_the_home_of_each_platform(env: dict[str, str], platform: str, expected: str) -> None:
    assert whet_home(env, platform) == expected


def test_a_relative_whet_home_is_made_absolute() -> None:
    assert whet_home({"WHET_HOME": "state"}, "linux") == os.path.abspath("state")


def test_the_process_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHET_HOME", "/elsewhere")
    monkeypatch.setenv("HOME", "/elsewhere")
    assert whet_home({"HOME": "/home/ada", "WHET_HOME": "~/x"}, "linux") == "/home/ada/x"


@pytest.mark.parametrize(
    ("env", "platform"),
    [
        ({}, "linux"),
        ({}, "darwin"),
        ({"HOME": "/home/ada"}, "win32"),
        ({"HOME": ""}, "linux"),
        ({"HOME": "ada"}, "linux"),
        ({"WHET_HOME": "~/x"}, "linux"),
        ({"WHET_HOME": "~bob/x", "HOME": "/home/ada"}, "linux"),
    ],
)
def test_without_a_home_the_caller_is_told_what_to_set(env: dict[str, str], platform: str) -> None:
    with pytest.raises(UsageError) as caught:
        whet_home(env, platform)
    assert caught.value.code == "no-home"
    assert caught.value.hint.startswith("Set ")


def test_the_user_home_is_the_persons_own() -> None:
    assert user_home({"HOME": "/home/ada/"}, "linux") == "/home/ada"
    assert user_home({"USERPROFILE": r"C:\Users\ada", "HOME": "/c/ada"}, "win32") == r"C:\Users\ada"
