"""An administrator's policy holds at every door, whatever a user, a project or the environment says."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hub.local import hub_running
from sources.repositories import Repository, serving_git

from journeys.machines import Machine, main
from whet import Library
from whet.errors import RefusedError
from whet.library.settings import PolicyFile
from whet.skill.archive import pack
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROCESSES = False

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
PORTS = main("ports", "Opens ports.", "Run this:\n\n```bash\nsudo ufw disable\n```\n")


class Office:
    """A machine with a policy, the company's skills and somebody else's, on a server and on the disk."""

    def __init__(self, top: Path, url: str) -> None:
        self.file, self.top, self.url = top / "etc" / "policy.toml", top, url
        self.file.parent.mkdir(mode=0o755)
        self.machine = Machine(top / "machine")
        for name in ("acme", "stranger"):
            files = {"review/SKILL.md": main("review", f"Of {name}."), "ports/SKILL.md": PORTS}
            Repository.new(top / "git" / name).commit(files)
        self.directory = top / "skills" / "own"
        self.directory.mkdir(parents=True)
        (self.directory / "SKILL.md").write_text(main("own"), encoding="utf-8")

    def source(self, name: str) -> str:
        return f"git:{self.url}/{name}#path=review"

    def policy(self, text: str, mode: int = 0o644) -> None:
        self.file.write_text(text, encoding="utf-8")
        self.file.chmod(mode)

    def allow(self, *sources: str, more: str = "") -> None:
        self.policy(f"allowed_sources = {list(sources)!r}\n{more}")

    def code(self, *words: str, code: int = 3) -> str:
        return str(self.machine.ask(*words, code=code)["code"])


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """The place of the policy is passed in, which is why this module has no `PROCESSES`."""
    top = tmp_path.resolve()
    (top / "git").mkdir()
    monkeypatch.setattr(
        "whet.library.settings.machine_policy_file", lambda: PolicyFile(str(top / "etc" / "policy.toml"), os.getuid())
    )
    with serving_git(top / "git") as server:
        yield Office(top, server.url)


def failed(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(step["name"], step["state"], step["code"]) for step in answer["plan"]]


def test_only_allowed_sources_at_every_door(office: Office) -> None:
    machine, theirs = office.machine, office.source("stranger")
    assert machine.ask("install", theirs)["installed"] == ["review"]
    assert machine.says("sources", "snapshot", "export", "all.whet")[0] == 0
    office.allow(f"{office.url}/acme", "/nowhere")

    refused = machine.ask("install", office.source("acme"), theirs, code=3)
    assert (refused["code"], refused["error"]) == (
        "source-not-allowed",
        f"The policy of this machine does not allow the source {theirs}.",
    )
    for spelling in (f"{theirs}&ref=main", theirs.replace("/stranger", "/stranger.git")):
        assert office.code("install", spelling) == "source-not-allowed"
    assert office.code("show", theirs) == "source-not-allowed"
    assert office.code("sources", "add", "other", theirs) == "source-not-allowed"
    assert office.code("sources", "search", "review", "--source", theirs) == "source-not-allowed"
    assert office.code("sources", "snapshot", "import", "all.whet") == "source-not-allowed"
    assert failed(machine.ask("update", code=3)) == [("review", "failed", "source-not-allowed")]
    shutil.rmtree(machine.root / "review")
    assert failed(machine.ask("install", code=3)) == [("review", "failed", "source-not-allowed")]
    assert failed(machine.ask("ci", code=3)) == [("review", "failed", "source-not-allowed")]
    assert machine.names() == []
    with pytest.raises(RefusedError, match="does not allow the source"), library(office) as opened:
        opened.sources.install(theirs)

    office.allow(f"{office.url}/acme")
    assert machine.ask("remove", "review", "--yes")["success"]
    assert machine.ask("install", office.source("acme"))["installed"] == ["review"]


def test_what_a_skill_needs_must_be_allowed_too(office: Office) -> None:
    need = f'{{name: review, source: "git:{office.url}/stranger"}}'
    more = f"metadata:\n  requires:\n    skills: [{need}]\n"
    Repository.new(office.top / "git" / "needy").commit({"deploy/SKILL.md": main("deploy", more=more)})
    office.allow(f"{office.url}/needy")
    answer = office.machine.ask("install", f"git:{office.url}/needy", "--override", "I want it.", code=3)
    assert failed(answer) == [("deploy", "blocked", "source-not-allowed")]
    assert office.machine.names() == []


def library(office: Office, **more: Any) -> Library:
    machine = office.machine
    return Library.open(home=machine.state, project=machine.work, env=machine.env, **more)


def test_no_setting_no_variable_and_no_root_gets_around_it(office: Office) -> None:
    machine, theirs = office.machine, office.source("stranger")
    office.allow(f"{office.url}/acme")
    machine.settings(f'trusted_sources = ["{office.url}/stranger", "stranger"]\n')
    (machine.work / ".git").mkdir()
    (machine.work / ".whet.toml").write_text("[policy.community]\nsafe = 'allow'\n", encoding="utf-8")
    other = office.top / "elsewhere"
    machine.env |= {"WHET_HOME": str(other), "PROGRAMDATA": str(other), "XDG_CONFIG_HOME": str(other)}
    other.mkdir()
    (other / "config.toml").write_text('private_hosts = ["127.0.0.1"]\nmin_age = 0\n', encoding="utf-8")
    for words in ((), ("--here",), ("--override", "I want it."), ("--root", str(other / "skills"))):
        assert office.code("install", theirs, *words) == "source-not-allowed"
    with pytest.raises(RefusedError), library(office, platform="darwin", roots=[str(other / "skills")]) as opened:
        opened.sources.install(theirs)


def test_directories_links_and_redirects_are_judged_by_where_they_lead(office: Office) -> None:
    machine, allowed = office.machine, office.top / "allowed"
    allowed.mkdir()
    office.allow(str(allowed), f"{office.url}/acme")
    assert office.code("install", str(office.directory)) == "source-not-allowed"
    (allowed / "own").symlink_to(office.directory)
    assert office.code("install", str(allowed / "own")) == "source-not-allowed"
    assert office.code("install", str(allowed / ".." / "skills" / "own")) == "source-not-allowed"
    assert office.code("install", "../../skills/own") == "source-not-allowed"
    repository = office.top / "git" / "acme"
    assert office.code("install", f"git:{repository.as_uri()}#path=review") == "source-not-allowed"
    shutil.copytree(office.directory, allowed / "fine")
    assert machine.ask("install", str(allowed / "fine"))["installed"] == ["own"]


def test_what_a_redirect_leads_to_is_not_what_was_allowed(office: Office, tmp_path: Path) -> None:
    office.allow(f"{office.url}/moved")
    with serving_git(tmp_path / "git") as server:
        server.moved["moved"] = "stranger"
        office.allow(f"{server.url}/moved")
        assert office.code("install", f"git:{server.url}/moved#path=review") == "source-not-allowed"
    assert office.machine.names() == []


def test_the_age_holds_for_trusted_and_exact_things_and_no_option_lowers_it(office: Office, tmp_path: Path) -> None:
    machine = office.machine
    office.policy("min_age = 7\n")
    with hub_running(tmp_path) as hub:
        archive = pack("review", {"SKILL.md": Item(main("review").encode())})
        hub.publish("acme", "review", "1.0.0", archive, days_ago=5)
        source = f"hub:{hub.url}/acme/review"
        for words in ((source,), (f"{source}@1.0.0",), (source, "--min-age", "0"), (source, "--override", "Now.")):
            answer = machine.ask("install", *words, code=3)
            assert failed(answer) == [("review", "blocked", "too-young")]
            assert answer["plan"][0]["reason"] == "1.0.0 is 5 days old; the minimum is 7 days on this machine."
            assert answer["plan"][0]["hint"].startswith("`whet guard policy explain` shows the policy of this machine")
        office.policy("min_age = 3\n")
        assert machine.ask("install", source)["installed"] == ["review"]


def test_forbidden_rules_block_whatever_the_trust_and_no_override_helps(office: Office) -> None:
    machine = office.machine
    ports = office.top / "skills" / "ports"
    ports.mkdir()
    (ports / "SKILL.md").write_text(PORTS, encoding="utf-8")
    office.policy("forbidden_rules = ['protection-off']\n")
    reason = (
        "The policy of this machine forbids the rule protection-off: a protection of the machine is turned off "
        "(SKILL.md, line 9)."
    )
    for words in ((str(ports),), (str(ports), "--override", "I must.")):
        answer = machine.ask("install", *words, code=3)
        assert failed(answer) == [("ports", "blocked", "machine-policy")]
        assert (answer["plan"][0]["reason"], machine.names()) == (reason, [])
    assert office.code("sources", "publish", str(ports), "--index", "site") == "machine-policy"
    written = machine.run("new", "ports", "--description", "Opens ports. Use when a port is closed.", "--body", PORTS)
    assert (written.returncode, machine.names()) != (0, ["ports"])

    shutil.copytree(ports, machine.root / "ports")
    assert machine.ask("guard", "policy", "explain", "ports")["reason"] == reason
    assert office.code("guard", "policy", "override", "ports", "--reason", "I must.") == "machine-policy"
    office.policy("")
    assert machine.ask("guard", "policy", "override", "ports", "--reason", "I must.")["decision"] == "allow"
    office.policy("forbidden_rules = ['protection-off']\n")
    assert machine.ask("guard", "policy", "explain", "ports")["decision"] == "block"


def test_without_overrides_what_is_blocked_stays_blocked(office: Office) -> None:
    machine, source = office.machine, f"git:{office.url}/acme#path=ports"
    assert machine.ask("install", source, "--override", "It is ours.")["installed"] == ["ports"]
    office.policy("overrides = false\n[policy.local]\ncaution = 'block'\n[policy.community]\nsafe = 'allow'\n")
    assert machine.ask("remove", "ports", "--yes")["success"]
    answer = machine.ask("install", source, "--override", "It is ours.", code=3)
    assert failed(answer) == [("ports", "blocked", "machine-policy")]
    rows = {row["trust"]: row["caution"] for row in machine.ask("guard", "policy", "show")["policy"]}
    assert rows["local"] == {"action": "block", "source": str(office.file)}
    machine.settings("[policy.local]\ncaution = 'allow'\n")
    rows = {row["trust"]: row["caution"] for row in machine.ask("guard", "policy", "show")["policy"]}
    assert rows["local"]["action"] == "block"


def test_a_repository_from_elsewhere_is_not_loaded(office: Office) -> None:
    machine = office.machine
    skill = machine.work / ".agents" / "skills" / "theirs"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(main("theirs"), encoding="utf-8")
    (machine.work / ".git").mkdir()
    text = '[remote "origin"]\n\turl = https://github.com/stranger/skills\n'
    (machine.work / ".git" / "config").write_text(text, encoding="utf-8")
    assert machine.ask("guard", "trust", "--yes")["success"]

    def names() -> list[str]:
        return [skill["name"] for skill in machine.ask("list")["skills"] if skill["scope"] == "project"]

    assert names() == ["theirs"]
    office.allow("acme/skills")
    assert names() == []
    assert "source-not-allowed" in [note["code"] for note in machine.ask("doctor")["report"]]
    assert office.code("guard", "trust", "--yes") == "source-not-allowed"
    office.allow("stranger/skills")
    assert names() == ["theirs"]


BROKEN = {
    "not TOML": ("allowed_sources = [", 0o644, "It is not valid TOML"),
    "an unknown line": (
        "allowed = []\n",
        0o644,
        "allowed is not a setting of the policy; the settings are allowed_sources",
    ),
    "a wrong kind": ("min_age = '7 days'\n", 0o644, "min_age is '7 days', which is not a number of days from 0"),
    "no source": ("allowed_sources = ['https://user@host/x']\n", 0o644, "'https://user@host/x' in allowed_sources is"),
    "no rule": ("forbidden_rules = ['no-such']\n", 0o644, "'no-such' in forbidden_rules is not a rule of the guard."),
    "no action": ("[policy.local]\nsafe = 'never'\n", 0o644, "policy is {'local': {'safe': 'never'}}, which is not"),
    "others write it": ("", 0o666, "It can be written by others (mode 0666)."),
    "a group writes it": ("", 0o664, "It can be written by others (mode 0664)."),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_policy_that_cannot_be_obeyed_blocks(office: Office, what: str) -> None:
    text, mode, problem = BROKEN[what]
    office.policy(text, mode)
    blocks(office, problem)


def blocks(office: Office, problem: str) -> None:
    machine = office.machine
    answer = machine.ask("install", office.source("acme"), code=3)
    assert answer["code"] == "machine-policy-unreadable"
    assert answer["error"].startswith(f"{office.file}: {problem}"), answer["error"]
    assert answer["hint"].startswith("Ask the administrator of this machine to repair it.")
    assert office.code("new", "fresh", "--description", "Does it.", "--body", "Do it.") == "machine-policy-unreadable"
    assert office.code("clients", "sync", "claude-code", "--dry-run") == "machine-policy-unreadable"
    assert machine.names() == []
    machine.ask("list")
    note = next(note for note in machine.ask("doctor")["report"] if note["code"] == "machine-policy-unreadable")
    assert (note["severity"], note["path"]) == ("error", str(office.file))
    assert machine.ask("guard", "policy", "explain")["machine"]["problem"].startswith(problem)


def test_a_directory_a_dead_link_and_another_owner_block_too(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.policy("")
    office.file.parent.chmod(0o777)
    blocks(office, "Its directory can be written by others (mode 0777).")
    office.file.parent.chmod(0o755)
    office.file.unlink()
    office.file.symlink_to(office.top / "gone")
    blocks(office, "It cannot be read: No such file or directory.")
    office.file.unlink()
    office.file.mkdir()
    blocks(office, "It is not a file.")
    office.file.rmdir()
    office.policy("")
    stranger = PolicyFile(str(office.file), os.getuid() + 1)
    monkeypatch.setattr("whet.library.settings.machine_policy_file", lambda: stranger)
    blocks(office, f"It belongs to the user {os.getuid()}, not to the administrator.")


def test_it_is_explained_line_by_line(office: Office) -> None:
    machine = office.machine
    said = f"This machine has no policy; an administrator can write one to {office.file}.\n"
    assert machine.says("guard", "policy", "explain") == (0, "", said)
    assert machine.ask("guard", "policy", "explain")["machine"]["active"] is False
    more = "min_age = 7\nforbidden_rules = ['pipe-shady']\noverrides = false\n[policy.local]\ndangerous = 'block'\n"
    office.allow("acme/skills", "/opt/skills", more=more)
    text = (
        f"{office.file}:\n"
        "  allowed_sources: Skills come only from acme/skills, /opt/skills.\n"
        "  min_age: Nothing from another machine is installed before it is 7 days old.\n"
        "  forbidden_rules: A finding of pipe-shady blocks a skill.\n"
        "  overrides: No override allows what the policy asks about or blocks.\n"
        "  policy.local.dangerous: At least block.\n"
    )
    assert machine.says("guard", "policy", "explain") == (0, text, "")
    told = machine.ask("guard", "policy", "explain")["machine"]
    lines = [line["line"] for line in told.pop("lines")]
    assert lines == ["allowed_sources", "min_age", "forbidden_rules", "overrides", "policy.local.dangerous"]
    assert told == {
        "active": True,
        "path": str(office.file),
        "allowed_sources": ["acme/skills", "/opt/skills"],
        "min_age": 7,
        "forbidden_rules": ["pipe-shady"],
        "trusted_keys": None,
        "overrides": False,
        "policy": [{"trust": "local", "verdict": "dangerous", "action": "block"}],
        "problem": "",
    }
    note = next(note for note in machine.ask("doctor")["report"] if note["code"] == "machine-policy")
    assert note["message"].startswith("An administrator's policy applies. Skills come only from acme/skills")


def test_the_gallery_is_a_source_like_any_other(office: Office) -> None:
    office.allow(f"{office.url}/acme")
    assert office.code("gallery", "add", "commit-messages") == "source-not-allowed"
    office.allow("gallery:whet")
    assert office.machine.ask("gallery", "add", "commit-messages")["installed"] == ["commit-messages"]
