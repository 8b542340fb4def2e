"""The tables of the guard that are data: their shape, and that nothing is there twice."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pytest

from whet import guard
from whet.guard import tables
from whet.guard.code.powershell import PowerShell
from whet.guard.code.reader import Reader as CodeReader
from whet.guard.documents import Kind as TextKind
from whet.guard.finding import CATEGORIES, SEVERITIES
from whet.guard.hosts import Kind
from whet.guard.javascript.reader import Reader as JavaScriptReader
from whet.guard.manifests.checker import READERS, readers
from whet.guard.options import command_start, read_arguments
from whet.guard.python.reader import Reader
from whet.guard.rules import every, pack
from whet.guard.shell.checker import SPECIALS
from whet.guard.shell.wrappers import INTERPRETERS
from whet.guard.tables import load_table, load_toml, word_list
from whet.guard.taint.call import Row, find_row, find_rows
from whet.guard.taint.harm import shorten_path, weigh_removal
from whet.guard.taint.judges import JUDGES

SOURCES = "".join(path.read_text("utf-8") for path in Path(guard.__path__[0]).rglob("*.py"))
READERS_OF: dict[str, Any] = {"python": Reader, "javascript": JavaScriptReader, "code": CodeReader}
_COMMAND = re.compile(
    r"^\*\.(?:-|[a-z]+-)[a-z]+$|^\((?:http|invoke|mail|program|replace|runspace|scripting|shortcut)\)|^chr$"
)
"""A name that only PowerShell has."""
FIELDS = {"id", "severity", "category", "title", "why", "remedy", "references"}
PACKS = {"reading", "prose", "shell", "windows", "python", "javascript", "manifests", "secrets", "flow"}


def test_a_table_has_a_name_that_no_module_beside_it_has() -> None:
    found = Path(guard.__path__[0]).rglob("*.toml")
    assert [path.name for path in found if path.with_suffix(".py").exists()] == [], "Python keeps both under one name"


def test_a_rule_has_every_field_and_an_id_of_its_own() -> None:
    table = load_table("rules")
    assert set(table) == PACKS
    rows = [row for rows in table.values() for row in rows]
    for row in rows:
        assert set(row) - {"mention"} == FIELDS, row
        assert row["severity"] in SEVERITIES and row["category"] in CATEGORIES, row
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", row["id"]), row
        assert row.get("mention", False) is False, row
        assert all(isinstance(row[name], str) and row[name].strip() == row[name] for name in FIELDS - {"references"})
        assert isinstance(row["references"], list) and all(isinstance(one, str) for one in row["references"]), row
    assert [rule.id for name in table for rule in pack(name)] == [row["id"] for row in rows] == list(every())
    assert word_list("grave_categories") <= set(CATEGORIES)


def test_a_host_is_a_lower_case_name_of_a_known_kind() -> None:
    table = load_table("hosts")
    assert set(table) - {"installers", "modules", "stand_in", "shared"} <= set(get_args(Kind))
    assert all(re.compile(pattern).groups == 0 for pattern in table["shared"])
    for kind, names in table.items():
        assert len(names) == len(set(names)), kind
        if kind == "shared":
            continue
        assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*(?:/[a-z0-9/-]*)?", name) for name in names), kind


@pytest.mark.parametrize("name", load_table("words"))
def test_a_list_of_words_has_each_of_them_once_and_is_looked_at(name: str) -> None:
    words = load_table("words")[name]
    assert len(words) == len(word_list(name)) > 7
    assert all(isinstance(word, str) and word for word in words)
    assert re.search(rf"\"{name.removeprefix('installer_')}\"", SOURCES), "nobody asks for it"


@pytest.mark.parametrize("language", ["python", "javascript", "code"])
def test_what_is_known_of_functions_is_a_list_that_somebody_asks_for(language: str) -> None:
    table = load_toml(f"{language}_api")
    for name, words in table.items():
        if isinstance(words, dict):
            assert words and all(isinstance(word, str | int) and word for word in words.values()), name
            assert f'["{name}"]' in SOURCES, f"nobody asks for {name}"
            continue
        assert words and all(isinstance(word, str) and word.strip() == word for word in words), name
        asked = re.search(rf'api\("{language}", "{name}"\)|shape\("(?:{language}_api", ")?{name}"', SOURCES)
        assert asked, f"nobody asks for {name}"


@pytest.mark.parametrize("language", READERS_OF)
def test_what_a_function_does_is_a_row_for_a_judge(language: str) -> None:
    table = load_toml(f"{language}_calls")
    judges = {*JUDGES, *READERS_OF[language].specials}
    commands = judges | set(PowerShell.specials)
    assert set(table) == {"call"}
    seen: set[str] = set()
    for row in table["call"]:
        names = [
            *row.get("names", ()),
            *(f"{one}.{verb}" for one in row.get("of", ()) for verb in row.get("verbs", ())),
        ]
        assert set(row) <= {"names", "of", "roots", "verbs", *Row._fields}, row
        assert row["does"] in (commands if all(map(_COMMAND.search, names)) else judges), row
        assert (names or row.get("roots")) and bool(row.get("of") or row.get("roots")) >= bool(row.get("verbs")), row
        assert seen.isdisjoint(names) and len(names) == len(set(names)), seen.intersection(names)
        seen.update(names)
        assert all(isinstance(place, (int, str)) for key in ("at", "given") for place in row.get(key, ())), row
        found = {find_row(language, name) for name in names}
        assert len(found) <= 1 and all(one is not None and one.does == row["does"] for one in found), row


def test_a_function_is_found_by_its_name_its_module_and_its_verb() -> None:
    rows = [
        find_row("python", name) for name in ("requests.Session.post", "requests.Session", "logging.info", "logging")
    ]
    assert [row.does if row else "" for row in rows] == ["request", "", "log", ""]
    assert find_row("python", "") is None and find_row("javascript", "(client).chat.create") is not None


def test_what_harms_is_told_by_expressions_that_somebody_asks_for() -> None:
    table = load_toml("harm")
    for name, lines in table.items():
        if name == "together":
            continue
        assert lines and re.compile("|".join(lines)).pattern, name
        assert f'"{name}"' in SOURCES, f"nobody asks for {name}"
    rows = [row for name in ("python", "javascript") for row in load_toml(f"{name}_calls")["call"]]
    noted = {row["what"] for row in rows if row["does"] == "note"}
    for row in table["together"].values():
        assert set(row) - {"message"} == {"rule", "needs", "at"} and row["rule"] in every(), row
        for what in (*row["needs"], row["at"]):
            assert all(f'"{one}"' in SOURCES or one in noted for one in what.split("|")), what


def test_what_a_program_does_is_a_row_for_a_judge_of_commands() -> None:
    """A row may have a condition; an alarm names a rule, and its severity where it has one of its own."""
    kinds = load_toml("shell_clients")["programs"]
    for row in load_toml("shell_calls")["call"]:
        assert set(row) <= {"names", "when", "does", "what", "gives", "at", "grave"} and row["does"] in {
            *JUDGES,
            *SPECIALS,
        }, row
        assert len(row["names"]) == len(set(row["names"])) > 0 and re.compile(row.get("when", "")).groups == 0, row
        assert all(name == name.lower() if name[0] != "@" else name[1:] in kinds for name in row["names"]), row
        if row["does"] == "alarm":
            assert row["what"] in every() and row.get("gives", "info") in SEVERITIES, row
        else:
            assert row["does"] in ("write", "leave", "call", "overwrite") or not {"what", "gives"} & set(row), row
    assert {row["does"] for row in load_toml("shell_calls")["call"]} == {
        "alarm", "remove", "write", "overwrite", "clean", "open mode", *SPECIALS,
    }  # fmt: skip
    assert "push" in {row.does for row in find_rows("git", "-c user.name=a\nb push origin")}


def test_what_a_file_is_by_its_bytes_and_its_name_is_a_table() -> None:
    table = load_table("kinds")
    marks = [mark for found in table["magic"].values() for mark in found]
    assert len(marks) == len(set(marks)) and all(len(bytes.fromhex(mark)) > 1 for mark in marks)
    assert {*table["archives"], *table["sealed"], *table["programs"]} - set(table["magic"]) <= {
        "bzip2", "tar", "iso", "dmg", "pe", "pyc",
    }  # fmt: skip
    assert {*table["extensions"], *table["interpreters"].values(), *table["names"].values()} <= set(get_args(TextKind))
    names = [name for found in table["extensions"].values() for name in found]
    labels = [label for found in table["fences"].values() for label in found]
    assert len(names) == len(set(names)) and len(labels) == len(set(labels))
    letters = [pair for row in load_table("confusables")["letters"].values() for pair in row.split()]
    assert all(len(pair) == 2 and pair[1].isascii() and not pair[0].isascii() for pair in letters)


def test_every_call_that_a_box_goes_without_has_its_numbers() -> None:
    calls, groups = load_toml("seccomp")["calls"], load_toml("seccomp")["groups"]
    assert all(1 <= len(numbers) <= 2 and all(0 < number < 600 for number in numbers) for numbers in calls.values())
    assert set(groups) == {"refused", "shared", "signals", "idle"} and set(chain(*groups.values())) <= set(calls)


def test_a_place_has_words_for_a_person_and_an_expression_without_groups() -> None:
    table = load_table("places")
    assert set(table) == {"secret", "start", "agent"}
    rows = [row for rows in table.values() for row in rows]
    assert len({row["what"] for row in rows}) == len(rows)
    for row in rows:
        assert set(row) == {"what", "grave", "hints", "pattern"} and isinstance(row["grave"], bool) and row["hints"]
        assert re.compile(row["pattern"]).groups == 0


def test_an_option_is_there_once_and_says_what_its_value_is() -> None:
    rows = load_toml("shell_options")["program"]
    kinds = {
        "body",
        "head",
        "login",
        "file",
        "form",
        "url",
        "output",
        "config",
        "code",
        "setting",
        "program",
        "value",
        "script",
        "glued",
        "flag",
    }
    for row in rows:
        options = [option for kind in kinds & set(row) for option in row[kind]]
        assert set(row) <= {*kinds, "names", "ends", "runs", "one_dash", "no_case", "bundled"} and row["names"], row
        assert len(options) == len(set(options)), row["names"]
        assert all(re.fullmatch(r"-[a-zA-Z0-9]|--?[a-zA-Z0-9-]{2,}", option) for option in options), row["names"]
    names = [name for row in rows for name in row["names"]]
    assert len(names) == len(set(names)) and set(INTERPRETERS) <= set(names)


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("rm --rec --fo x", "--recursive --force |x"),
        ("rm -rf -- -x", "-r -f |-x"),
        ("curl -sSd x --url=u --dat y", "-s -S -d=x --url=u --data=y|"),
        ("curl --head u", "--head|u"),
        ("tar xzf a.tgz -C d", "-x -z -f=a.tgz -C=d|"),
        ("sudo -u app rm -r x", "-u=app|rm -r x"),
        ("bash +x +o posix -c x", "+x +o=posix -c|x"),
        ("node +x -e y", "|+x -e y"),
        ("docker run -v=/:/m --rm i ls -l", "-v=/:/m --rm|run i ls -l"),
        ("find . -name x -delete", "-name=x -delete|."),
        ("perl -Mstrict -ne x f", "-M=strict -n -e=x|f"),
        ("unheard -abc --of=x y", "-abc --of=x|y"),
    ],
)
def test_arguments_are_the_same_in_every_spelling(command: str, read: str) -> None:
    name, *words = command.split()
    found = read_arguments(name, tuple(words))
    options, _, operands = read.partition("|")
    assert [one.option + f"={one.text}" * bool(one.text) for one in found if one.option] == options.split()
    assert [one.text for one in found if not one.option] == operands.split()


def test_a_command_is_found_behind_any_number_of_variables() -> None:
    assert command_start("env", (*["A=1"] * 5000, "curl", "B=2")) == (5000, list(range(5000)))
    assert command_start("timeout", ("-k", "3", "5")) == (3, [])


def test_a_path_is_judged_without_its_ways_round() -> None:
    paths = ["/x/./y//z/", "/etc/..", "//.", "~/a/b/../..", "../x", "/../x", "$A/../x", "/a*/../x"]
    assert [*map(shorten_path, paths)] == ["/x/y/z/", "/", "/", "~", "../x", "/../x", "$A/../x", "/a*/../x"]
    assert shorten_path("/a" * 20_000 + "/.." * 20_000) == "/"
    assert [weigh_removal("*", folder) for folder in ("~/build", "~/build/..")] == [None, "critical"]


def test_a_client_is_known_by_its_programs_and_what_it_prints() -> None:
    table = load_toml("shell_clients")
    asked = {name for row in load_toml("shell_calls")["call"] for name in row["names"]}
    assert all(f'"{kind}"' in SOURCES or f"@{kind}" in asked for kind in table["programs"]), (
        "nobody asks for one of them"
    )
    for row in table["prints"]:
        assert set(row) <= {"names", "arguments", "what", "grave", "kind"}, row
        assert re.compile(row["arguments"]).groups == 0, row
    assert set(table["packages"]) == {"builders", "managers", "variables", "runners"}


def test_the_words_of_powershell_are_lists_that_somebody_asks_for() -> None:
    table = load_toml("powershell")
    for name, listed in table.items():
        assert f'"{name}"' in SOURCES and all(map(str.islower, filter(str.isalpha, listed))), name
        assert len(listed) == len(set(listed)), name
    assert {name for name in table["aliases"].values() if "-" not in name} == set()


def test_the_words_of_requests_are_lists_that_somebody_asks_for() -> None:
    table = load_toml("network")
    assert all(f'"{name}"' in SOURCES and len(words) == len(set(words)) for name, words in table.items())


def test_a_condition_that_hides_something_has_words_for_a_person() -> None:
    assert all(isinstance(what, str) and what for what in load_toml("python_gates").values())


def test_an_order_has_a_rule_and_an_expression_and_stands_in_a_group_that_somebody_asks_for() -> None:
    table = load_toml("orders")
    alone = word_list("orders_alone")
    assert alone <= set(table)
    for name, rows in table.items():
        assert f'"{name}"' in SOURCES or name in alone, f"nobody asks for {name}"
        if name in ("near", "installer"):
            assert all(f'"{key}"' in SOURCES and re.compile(regex).pattern for key, regex in rows.items()), name
            continue
        for row in rows:
            assert set(row) - {"unless", "severity"} == {"rule", "regex"}, row
            assert row["rule"] in every() and row.get("severity", "info") in SEVERITIES, row
    regexes = [row["regex"] for rows in table.values() if isinstance(rows, list) for row in rows]
    assert len(regexes) == len(set(regexes))


def test_a_table_is_parsed_once_and_again_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = tomllib.loads

    def loads(text: str) -> dict[str, Any]:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(tomllib, "loads", loads)
    monkeypatch.setattr(tables, "__file__", str(tmp_path / "tables.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "data" / "small.toml"
    path.parent.mkdir()

    for word in "ab":
        path.write_text(f'words = ["{word}"]\n', encoding="utf-8")
        os.utime(path, (1, 1))
        assert [load_toml.__wrapped__("small") for _ in range(3)] == [{"words": [word]}] * 3
    assert parsed == ['words = ["a"]\n', 'words = ["b"]\n']


@pytest.mark.parametrize(
    "table", ["flow", "manifests", "network", "prose", "reading", "shell_signs", "subject", "taint"]
)
def test_a_table_of_words_and_alternatives_has_each_once_and_is_looked_at(table: str) -> None:
    for name, lines in load_toml(table).items():
        if name == "reader":
            continue
        assert len(lines) == len(set(lines)) > 1 and all(isinstance(line, str) and line for line in lines), name
        assert re.compile("|".join(lines)).groups == 0, name
        assert re.search(rf'\("{table}", "{name}"|\["{name}"\]', SOURCES), f"nobody asks for {name}"


def test_a_manifest_has_one_reader_that_knows_it_by_its_path_its_keys_or_a_fence() -> None:
    rows = load_toml("manifests")["reader"]
    assert {row["read"] for row in rows} == set(READERS) and len(rows) == len(READERS)
    fences = [fence for row in rows for fence in row.get("fences", ())]
    assert len(fences) == len(set(fences))
    for row, reader in zip(rows, readers(), strict=True):
        assert set(row) <= {"read", "paths", "format", "keys", "fences"}, row
        assert len(row) > 1 + ("format" in row) and row.get("format") in (None, "json", "yaml", "toml"), row
        assert bool(row.get("keys")) <= bool(row.get("format")) and re.compile(reader.paths.pattern).groups == 0, row
