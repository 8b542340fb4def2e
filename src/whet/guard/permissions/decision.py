"""Permissions: `allowed-tools` as an enforced restriction.

A skill declares which tools it needs; that is a request. `permits` answers for one tool call: `allow` if a grant covers
it and no rule objects, `deny` if no grant covers it or if the effect of the call is uncertain, `ask` if a person
should decide. A skill that declares nothing gets `ask` for everything. The policy of the user restricts further: what it
denies is denied, what it does not allow is not allowed; no grant can widen it.

Everything here is judged by text. It is a gate in front of tools and not a sandbox: the sandbox restricts what a granted
program does on its own (a script, a hook of the repository, a linked file).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.permissions.globs import name_matches
from whet.guard.permissions.grants import NAMED, PATHS, PLAIN, SHELL, WEB, Grant, read_grants, tools_named
from whet.guard.permissions.paths import BadPathError, Where, allowed_path, covers, normalised, path_rule, paths_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.skill.model import Skill
    from whet.values import Json

__all__ = [
    "Grant",
    "Permission",
    "Policy",
    "declared_tools",
    "declared_value",
    "permits",
    "read_grants",
    "skill_permits",
]

_DECLARED = ("allowed-tools", "allowed_tools")
_RANK = {"allow": 0, "ask": 1, "deny": 2}
_PATCH = {"Update File": "Edit", "Add File": "Write", "Delete File": "Write", "Move to": "Write"}
"""Lines of a patch that name a file, after `*** `, and the tool that such a change needs."""
_PATCH_MARKS = frozenset(("Begin Patch", "End Patch", "End of File"))
_SHELLS = ("bash", "/bin/bash", "sh", "/bin/sh")
"""Shells through which clients that take a list of words run a line: `["bash", "-lc", LINE]`."""
_COMMANDS = ("command", "cmd", "script")
_DIRECTORIES = ("cwd", "workdir", "working_directory", "directory", "dir_path")
_LEAVING = ("dangerouslyDisableSandbox", "with_escalated_permissions", "sandbox_permissions", "require_escalated")
"""Keys by which calls ask to run outside the sandbox of the client."""
_FAMILIES = ({"Read", "Glob", "Grep", "LS"}, {"Write", "Edit", "NotebookEdit"})
"""Families of tools: a rule that forbids one tool forbids the whole family."""
_EDITOR = {"view": "Read", "create": "Write", "str_replace": "Edit", "insert": "Edit", "undo_edit": "Edit"}


class Permission(NamedTuple):
    """The answer, and its reason as a sentence."""

    decision: Literal["allow", "deny", "ask"]
    reason: str
    problems: tuple[str, ...] = ()
    """Problems of grants that cannot be read, and grant nothing."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        answer: Json = {"success": True, "decision": self.decision, "reason": self.reason}
        return {**answer, "problems": list(self.problems)} if self.problems else answer


class Policy(NamedTuple):
    """The rules of the user, in the same syntax as `allowed-tools`."""

    deny: tuple[Grant, ...] = ()
    ask: tuple[Grant, ...] = ()
    allow: tuple[Grant, ...] | None = None
    """The most that any skill may have; `None` leaves that to the skills."""


NO_POLICY = Policy()


class _Call(NamedTuple):
    """One use of one tool of our vocabulary."""

    tool: str
    given: Mapping[str, object]


def permits(
    grants: Sequence[Grant] | None,
    tool: str,
    given: Any,
    *,
    cwd: str,
    skill_dir: str = "",
    home: str = "",
    policy: Policy = NO_POLICY,
) -> Permission:
    """Return whether a skill with these grants (`None`: it declares none) may make this tool call.

    `given` is the input of the tool as the client sends it; paths are resolved from `cwd`. Never fails: a malformed or
    unknown call is denied with a reason.
    """
    decision, reason = _worst_answer(grants, tool, given, Where(cwd, skill_dir, home), policy)
    kind: Literal["allow", "deny", "ask"] = "allow" if decision == "allow" else "ask" if decision == "ask" else "deny"
    text = f"{reason[:1].upper()}{reason[1:]}"
    problems = tuple(grant.problem for grant in grants or () if grant.problem)
    return Permission(kind, text if text.endswith(".") else f"{text}.", problems)


def _worst_answer(
    grants: Sequence[Grant] | None, tool: str, given: Any, where: Where, policy: Policy
) -> tuple[str, str]:
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        return "deny", "the input of the tool is not a mapping"
    calls, problem = _calls(tool, given)
    if problem:
        return "deny", problem
    worst = ("allow", "")
    for call in calls:
        for answer in _answers(call, grants, where, policy):
            if _RANK[answer[0]] > _RANK[worst[0]] or not worst[1]:
                worst = answer
    return worst


def declared_tools(skill: Skill) -> tuple[Grant, ...] | None:
    """Return the grants that a skill declares, including typed entries; `None` if it declares none."""
    value = declared_value(skill)
    return None if value is None else read_grants(value)


def declared_value(skill: Skill) -> Any:
    """Return the declared value as written in the skill."""
    return next((skill.frontmatter[key] for key in _DECLARED if skill.frontmatter.get(key) is not None), None)


def skill_permits(
    skill: Skill,
    tool: str,
    given: Any,
    *,
    cwd: str,
    skill_dir: str = "",
    home: str = "",
    policy: Policy = NO_POLICY,
) -> Permission:
    """Return the answer of `permits` for a skill: it grants its `allowed-tools` and denies its `disallowed-tools`."""
    policy = policy._replace(deny=(*policy.deny, *read_grants(list(skill.disallowed_tools))))
    return permits(declared_tools(skill), tool, given, cwd=cwd, skill_dir=skill_dir, home=home, policy=policy)


def _calls(tool: str, given: Mapping[str, object]) -> tuple[list[_Call], str]:
    """Translate a call into calls of our vocabulary, one per file for a tool that takes several, or return a problem."""
    names = tools_named(tool)
    if len(names) == 1:
        return [_Call(names[0], given)], ""
    if len(names) == len(set(_EDITOR.values())):
        name = _EDITOR.get(str(given.get("command")))
        return ([_Call(name, given)], "") if name else ([], "the editor's command is not known")
    text = next((value for key in ("patch", "input", "diff") if isinstance(value := given.get(key), str)), "")
    calls = []
    for line in map(str.strip, text.splitlines()):
        mark, _, path = line.removeprefix("*** ").partition(":")
        if line.startswith("***") and mark in _PATCH:
            calls.append(_Call(_PATCH[mark], {"file_path": path.strip()}))
        elif line.startswith("***") and mark not in _PATCH_MARKS:
            return [], f"the patch holds a line nobody knows: {line[:80]}"
    return calls, "" if calls else "the patch names no file that could be judged"


def _answers(call: _Call, grants: Sequence[Grant] | None, where: Where, policy: Policy) -> list[tuple[str, str]]:
    answers = [("ask", "the skill declares no tools")] if grants is None else [_judge(call, grants, where)]
    if policy.allow is not None:
        decision, reason = _judge(call, policy.allow, where)
        answers.append((decision, f"the policy limits it: {reason}"))
    for decision, rules in (("ask", policy.ask), ("deny", policy.deny)):
        for rule in rules:
            if rule.problem:
                answers.append((decision, f"a rule of the policy cannot be read: {rule.problem}"))
            elif _forbids(rule, call, where):
                answers.append((decision, f"{rule.text} says {decision}"))
    return answers


def _judge(call: _Call, grants: Sequence[Grant], where: Where) -> tuple[str, str]:
    tool, given = call
    usable = [grant for grant in grants if not grant.problem]
    if tool.startswith("mcp__"):
        return _judge_mcp(tool, usable)
    mine = [grant for grant in usable if grant.tool == tool]
    if not mine:
        unread = [grant.problem for grant in grants if grant.problem]
        return "deny", f"{tool} is not granted{f' ({unread[0]})' if unread else ''}"
    if tool in SHELL:
        from whet.guard.permissions.commands import allowed_command

        command, problem = _command(given)
        if problem or (problem := _surroundings(given)):
            return "deny", problem
        if leaving := next((key for key in _LEAVING if given.get(key) not in (None, False, "", "use_default")), ""):
            return "ask", f"{leaving} asks for more than the sandbox allows"
        if any(key in given for key in _DIRECTORIES):
            try:
                directory = normalised(str(next(given[key] for key in _DIRECTORIES if key in given)), where)
            except BadPathError as error:
                return "deny", str(error)
            if not covers(path_rule("**", where), directory):
                return "deny", f"{directory} is outside the working directory"
            if directory != normalised(where.cwd, where):
                where = where._replace(at=directory)
        return allowed_command(command, usable, where)
    if tool in PATHS:
        return _judge_paths(call, usable, where)
    if tool in WEB:
        return allowed_address(tool, given, mine)
    if tool in NAMED:
        return _judge_named(call, mine)
    if tool == "WebSearch" and not isinstance(given.get("query"), str):
        return "deny", "there is no query"
    return "allow", f"{mine[0].text} is granted{'' if tool in PLAIN else ' by its name'}"


def _command(given: Mapping[str, object]) -> tuple[str, str]:
    values = [given[key] for key in _COMMANDS if key in given]
    if len(values) != 1:
        return "", "there is no command" if not values else "the input holds more than one command"
    value = values[0]
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        import shlex

        carried = len(value) == 3 and value[0] in _SHELLS and value[1] in ("-c", "-lc")
        value = value[2] if carried else shlex.join(value)
    return (value, "") if isinstance(value, str) else ("", "the command is not text")


def _surroundings(given: Mapping[str, object]) -> str:
    """Return the problem with the working directory, environment and other settings of a command call, or ""."""
    from whet.guard.permissions.programs import program_tables

    if any(given.get(key) for key in ("env", "environment")):
        return "the call sets variables for the command"
    known = {*_COMMANDS, *_DIRECTORIES, *_LEAVING, *program_tables().words["call_keys"]}
    if unknown := next((key for key, value in given.items() if value and key not in known), ""):
        return f"the call says {unknown[:80]!r}, which may change what runs"
    named = [given[key] for key in _DIRECTORIES if key in given]
    if len(named) > 1 or not all(isinstance(name, str) for name in named):
        return "the directory to run in is not one text"
    return ""


def _judge_paths(call: _Call, grants: Sequence[Grant], where: Where) -> tuple[str, str]:
    try:
        paths = paths_of(call.tool, call.given, where)
    except BadPathError as error:
        return "deny", str(error)
    answers = [allowed_path(call.tool, path, grants, where) for path in paths]
    return max(answers, key=lambda answer: _RANK[answer[0]])


def _judge_named(call: _Call, grants: Sequence[Grant]) -> tuple[str, str]:
    keys = ("subagent_type", "agent", "agent_type") if call.tool == "Task" else ("skill", "name", "command")
    name = next((call.given[key] for key in keys if key in call.given), None)
    for grant in grants:
        if not grant.rule or (isinstance(name, str) and name_matches(grant.rule, name)):
            return "allow", f"{grant.text} covers it"
    return "deny", f"no grant lets {call.tool} use {name!r}"


def _judge_mcp(tool: str, grants: Sequence[Grant]) -> tuple[str, str]:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    for grant in grants:
        wanted, _, part = grant.tool.removeprefix("mcp__").partition("__")
        if not grant.tool.startswith("mcp__") or not server or not name:
            continue
        whole = grant.tool == tool or (not part and wanted == server and "__" not in name)
        if whole or ("*" in part and wanted == server and name_matches(part, name)):
            return "allow", f"{grant.text} covers it"
    return "deny", f"no grant covers {tool}"


def _forbids(rule: Grant, call: _Call, where: Where) -> bool:
    """Return whether a rule of the policy applies to this call, in doubt `True`."""
    if call.tool.startswith("mcp__"):
        return name_matches(rule.tool, call.tool) or call.tool.startswith(f"{rule.tool}__")
    family = next((tools for tools in _FAMILIES if rule.tool in tools), {rule.tool})
    if call.tool in SHELL and rule.tool in PATHS and rule.rule:
        from whet.guard.permissions.commands import names_path

        command, problem = _command(call.given)
        return not problem and names_path(path_rule(rule.rule, where), command, where)
    if call.tool not in family:
        return False
    if not rule.rule:
        return True
    if call.tool in SHELL:
        from whet.guard.permissions.commands import touches

        command, problem = _command(call.given)
        return bool(problem) or touches(rule, command)
    if call.tool in PATHS:
        try:
            paths = paths_of(call.tool, call.given, where)
        except BadPathError:
            return True
        return any(covers(path_rule(rule.rule, where), path, fold=True) for path in paths)
    if call.tool in WEB:
        host, problem = host_of_address(call.given.get("url"))
        return bool(problem) or covers_host(rule.rule, host.partition(":")[0])
    return _judge_named(call, [rule])[0] == "allow"


# --- permissions of addresses: a rule is about a host, and the host is parsed strictly -------------------------------

_URL = expression(r"(https?)://([^/?#]{1,300})(?:[/?#].*)?", re.IGNORECASE)
_NAME = expression(r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST = 4096


def allowed_address(tool: str, given: Mapping[str, object], grants: Iterable[Grant]) -> tuple[str, str]:
    """Return `allow`, `ask` or `deny`, and the reason, for a call that fetches an address."""
    host, problem = host_of_address(given.get("url"))
    if problem:
        return "deny", problem
    rules = [grant.rule for grant in grants if grant.tool == tool and not grant.problem]
    if any(rule and covers_host(rule, host) for rule in rules):
        return "allow", f"{host} is granted"
    if "" not in rules:
        return "deny", f"no grant lets {tool} fetch from {host}"
    if is_inside(host):
        return "ask", f"{host} is an address or a host of the machine or its network, which no grant names"
    return "allow", f"{tool} is granted for every host"


def host_of_address(url: Any) -> tuple[str, str]:
    """Return the host of an address, with its port unless that is the default, and an error message or ""."""
    if not isinstance(url, str) or not url or len(url) > _LONGEST:
        return "", "there is no url" if not url or not isinstance(url, str) else "the url is too long"
    if re.search(r"[\x00-\x20\x7f\\]", url):
        return "", "the url holds a blank, a backslash or a control character"
    if not (found := _URL.fullmatch(url)):
        return "", "only http and https addresses are fetched"
    scheme, authority = found[1].lower(), found[2].lower()
    if "@" in authority:
        return "", "the url names a user before its host"
    name, bracket, port = authority.rpartition("]")
    if bracket:
        name, port = name + bracket, port.removeprefix(":")
        known = re.fullmatch(r"\[[0-9a-f:.]{2,45}\]", name) is not None
    else:
        name, _, port = authority.partition(":")
        name = name.removesuffix(".")
        known = _NAME.fullmatch(name) is not None
    if not known:
        return "", "the host of the url is not written plainly, in ASCII"
    if port and not re.fullmatch(r"\d{1,5}", port):
        return "", "the port of the url is not a number"
    usual = port in ("", {"http": "80", "https": "443"}[scheme])
    return name if usual else f"{name}:{port}", ""


def covers_host(rule: str, host: str) -> bool:
    """Return whether `domain:example.com` or `domain:*.example.com` covers a host. The rule must name any other port."""
    wanted = rule.removeprefix("domain:")
    if wanted.startswith("*."):
        return host.endswith(wanted[1:]) and len(host) > len(wanted) - 1
    return host == wanted


def is_inside(host: str) -> bool:
    """Return whether a host is a literal address or not on the public internet."""
    from whet.guard.hosts import host_of

    return host_of(f"http://{host}/").kind in ("loopback", "private", "address")
