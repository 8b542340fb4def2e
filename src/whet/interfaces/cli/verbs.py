"""All commands: names, modules, one-line summaries, and other spellings.

"How to add a command" in `docs/architecture.md` has the steps. A command's file is imported only when one of its
commands runs, and this table imports nothing, so that `whet` alone answers at once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.errors import UsageError
    from whet.interfaces.cli.context import Command
    from whet.interfaces.cli.parser import Parser


class Verb:
    """One row of the table."""

    def __init__(
        self,
        module: str,
        summary: str,
        group: str = "",
        *,
        old: tuple[str, ...] = (),
        also: tuple[str, ...] = (),
        like: tuple[str, ...] = (),
        now: str = "",
    ) -> None:
        self.module = module
        """A file of `whet.interfaces.cli.commands`."""
        self.summary = summary
        self.group = group
        """For a command of one word: its heading on the front screen, or its group."""
        self.old = old
        """Former names, with the options they imply; they work until the next release, with a note."""
        self.also = also
        """Names in other tools and first guesses, in the same way; they work without a note."""
        self.like = like
        """Words that only suggest the command, each with the words to type after it."""
        self.now = now
        """For a replaced command: what to type instead. It works until the next release."""


FRONT = ("Look", "Write", "Install", "Run", "Go back", "Set up")
"""The headings of the front screen."""
GROUPS = {
    "skill": "Change, check, disable and pack single skills",
    "history": "Compare states, verify and back up",
    "proposals": "Decide on changes that wait for approval",
    "guard": "Decide what is trusted and allowed",
    "learn": "Learn from sessions and measure skills",
    "sources": "Manage sources and share your skills",
    "gallery": "Choose from the skills that ship with Whet",
    "prompt": "See what a model receives",
    "clients": "Set up Whet and the programs that use it",
    "keys": "Sign your skills and choose which signatures to trust",
    "hub": "Run a registry of skills for a team, or use one",
}
"""The first words of two-word commands."""
LISTED = {
    "agents": "List every skill with the clients that load it",
    "redo": "Make an undone change again",
    "disconnect": "Disconnect Whet from a client",
    "enable": "The same as `whet skill enable`",
    "disable": "The same as `whet skill disable`",
}
"""Other spellings of commands that `whet help all` lists, with their summaries."""
VERBS: dict[str, Verb] = {
    "list": Verb(
        "skills",
        "List your skills; --all names the clients that load each",
        "Look",
        also=("ls", "skills", "agents --all", "clients list --all"),
        like=(
            *("all", "dir", "tree", "overview", "summary", "categories", "tags"),
            *("agent --all", "client --all", "loaded --all"),
            *("codex --client codex", "claude --client claude-code", "claude-code --client claude-code"),
        ),
    ),
    "show": Verb(
        "skills",
        "Show a skill, or what a source offers",
        "Look",
        old=("inspect",),
        also=("info", "view", "cat"),
        like=("read", "describe", "explain", "about", "open", "get", "print", "details"),
    ),
    "find": Verb(
        "match",
        "Find the skills that fit a message",
        "Look",
        old=("detect --decide",),
        like=("match", "which", "suggest", "lookup"),
    ),
    "new": Verb(
        "write",
        "Start a skill from a template, or write one",
        "Write",
        also=("init",),
        like=("make", "add-skill", "generate", "start", "draft", "template", "scaffold", "wizard"),
    ),
    "edit": Verb(
        "write", "Edit a skill in your editor", "Write", like=("change", "modify", "vim", "write", "edit-skill")
    ),
    "distill": Verb(
        "learn", "Turn a session with an agent into a skill", "Write", like=("record", "extract", "capture", "wizard")
    ),
    "install": Verb(
        "install",
        "Install skills from a repository, a path or an address",
        "Install",
        also=("add", "i"),
        like=("download", "fetch", "clone", "pull", "get"),
    ),
    "update": Verb(
        "install",
        "Update installed skills and keep your edits",
        "Install",
        also=("upgrade", "check --check", "outdated --check"),
        like=("refresh", "reload", "status --check"),
    ),
    "remove": Verb(
        "write",
        "Remove skills; `whet undo` brings them back",
        "Install",
        old=("archive --archive",),
        also=("rm", "uninstall", "delete"),
        like=("erase", "destroy", "drop", "purge", "discard", "clean", "forget"),
    ),
    "scan": Verb(
        "guard",
        "Scan skills for anything dangerous",
        "Install",
        old=("audit --all",),
        like=("safety", "security", "vet"),
    ),
    "run": Verb("run", "Run a skill with only its own tools, and see what it did", "Run", like=("exec", "execute")),
    "ui": Verb("ui", "Open your skills in a browser", "Run", like=("web", "gui", "dashboard", "open", "watch")),
    "undo": Verb(
        "history",
        "Undo the last change, or another one",
        "Go back",
        also=("redo --redo",),
        like=("revert", "back", "reset", "recover", "unremove", "unarchive"),
    ),
    "history": Verb(
        "history",
        "Show who changed what, when and why",
        "Go back",
        also=("history list", "log"),
        like=("logs", "changes", "recent", "today", "tail"),
    ),
    "connect": Verb(
        "connect",
        "Connect Whet to a client such as Claude Code",
        "Set up",
        also=("disconnect --undo",),
        like=("setup", "integrate", "codex", "claude", "claude-code", "cursor"),
    ),
    "sync": Verb(
        "share",
        "Link your skills to where your clients look",
        "Set up",
        also=("clients sync",),
        like=("mirror", "link", "unsync --undo", "unlink --undo"),
    ),
    "doctor": Verb(
        "doctor",
        "Find problems and repair them",
        "Set up",
        like=("diagnose", "repair --fix", "fix --fix", "health"),
    ),
    "skill validate": Verb("doctor", "Check skills for format and quality", also=("validate",), like=("lint",)),
    "skill test": Verb("evals", "Run a skill's own tests in the sandbox", old=("test",)),
    "skill needs": Verb("doctor", "List what skills need that is not set up", old=("needs",), like=("requires",)),
    "skill patch": Verb("write", "Replace part of a skill's text", old=("patch",), like=("replace", "sed")),
    "skill rename": Verb("write", "Rename a skill", also=("rename", "mv"), like=("move",)),
    "skill write-file": Verb("write", "Add or replace a file in a skill", old=("write-file",), like=("add-file",)),
    "skill remove-file": Verb("write", "Remove a file from a skill", old=("remove-file",), like=("delete-file",)),
    "skill enable": Verb(
        "decisions", "Offer a disabled skill again", also=("enable",), like=("on", "unhide", "activate")
    ),
    "skill disable": Verb(
        "decisions", "Stop offering a skill; it stays on disk", also=("disable",), like=("off", "hide", "deactivate")
    ),
    "skill pin": Verb("decisions", "Protect a skill from updates and cleanup", also=("pin",), like=("hold",)),
    "skill unpin": Verb("decisions", "Let updates and cleanup change a skill again", also=("unpin",)),
    "skill pack": Verb("share", "Pack a skill into one .skill file", old=("pack",), like=("zip", "archive-file")),
    "skill unpack": Verb("share", "Unpack a skill from a .skill file", old=("unpack",), like=("unzip", "extract")),
    "history diff": Verb("history", "Show how two states of a skill differ", also=("diff",), like=("compare",)),
    "history verify": Verb("history", "Prove that the history is complete and unchanged", old=("verify-history",)),
    "history backup": Verb(
        "history", "Save the history, all state and your skills in one file", old=("backup",), like=("save", "commit")
    ),
    "history restore": Verb("write", "Restore a backup"),
    "proposals list": Verb("proposals", "List the changes that wait for approval", old=("pending",), like=("inbox",)),
    "proposals show": Verb("proposals", "Show what a proposal changes"),
    "proposals approve": Verb(
        "proposals", "Approve a proposal and make the change", old=("approve",), like=("accept", "merge")
    ),
    "proposals reject": Verb("proposals", "Reject a proposal", old=("reject",), like=("decline",)),
    "guard trust": Verb("decisions", "Trust this repository or a linked directory", old=("trust",)),
    "guard untrust": Verb("decisions", "Stop trusting this repository", old=("untrust",)),
    "guard policy": Verb(
        "guard",
        "Show and explain the policy, and make exceptions",
        old=("policy",),
        like=("override override", "allow override", "block"),
    ),
    "guard rules": Verb("guard", "List what the guard looks for, or explain a rule", old=("rules",), like=("explain",)),
    "guard log": Verb("guard", "Show the decisions of the guard", like=("decisions", "record")),
    "guard permits": Verb(
        "guard", "Check whether a skill may make a tool call", old=("permits",), like=("permissions", "may")
    ),
    "learn sessions": Verb("learn", "Propose skills from difficult sessions", old=("learn",)),
    "learn transcript": Verb("learn", "Show what Whet reads from a session, with secrets hidden", old=("transcript",)),
    "learn eval": Verb(
        "evals", "Measure how much a skill helps, or when skills trigger", old=("eval",), like=("measure", "bench")
    ),
    "learn triggers": Verb("evals", "Make trigger evals for a skill from its own text", like=("generate-evals",)),
    "learn improve": Verb("evals", "Improve a skill that fails its evals", old=("improve",), like=("optimize",)),
    "learn feedback": Verb(
        "match", "Teach Whet which messages a skill is for", old=("feedback",), like=("rate", "teach", "train")
    ),
    "learn usage": Verb(
        "usage", "Show how often skills are used, and whether they help", old=("usage",), like=("stats", "count")
    ),
    "learn curate": Verb("learn", "Plan what to do with unused skills", old=("curate",), like=("prune",)),
    "learn duplicates": Verb("match", "Find skills that are nearly the same", old=("duplicates",), like=("dedupe",)),
    "sources list": Verb(
        "sources", "List the named sources (taps)", old=("tap list", "tap"), like=("taps", "registries")
    ),
    "sources add": Verb("sources", "Add a named source to search and install from", old=("tap add",)),
    "sources remove": Verb("sources", "Remove a named source", old=("tap remove",), like=("untap",)),
    "sources search": Verb("sources", "Search the named sources for skills", also=("search", "browse")),
    "sources verify": Verb("install", "Compare installed skills with the lock", old=("verify",)),
    "sources why": Verb(
        "install", "Show where a skill came from and who approved it", old=("why",), like=("origin", "whence", "blame")
    ),
    "sources adopt": Verb("install", "Start managing skills that already exist", old=("adopt",), like=("import",)),
    "sources publish": Verb(
        "share",
        "Publish skills to git, a web directory or a hub",
        also=("publish",),
        like=("push", "share", "upload", "release"),
    ),
    "sources snapshot": Verb(
        "share", "Export the library to a file, or import it", old=("snapshot",), like=("export",)
    ),
    "sources digest": Verb("share", "Print the digest of a skill", old=("digest",), like=("hash", "checksum")),
    "gallery": Verb(
        "gallery", "List the skills that ship with Whet", "gallery", also=("gallery list",), like=("bundled", "builtin")
    ),
    "gallery show": Verb("gallery", "Show a skill from the gallery in full"),
    "gallery add": Verb("gallery", "Add skills from the gallery to yours"),
    "gallery remove": Verb("gallery", "Remove skills that were added from the gallery"),
    "ci": Verb("install", "Install exactly what the lock says, or fail", "sources", like=("frozen", "pipeline")),
    "prompt index": Verb("prompt", "Print the list of skills for a model's prompt", old=("index",)),
    "prompt list-as": Verb(
        "decisions",
        "Choose how a skill is listed for models",
        also=("list-as",),
        like=("listing", "always", "manual", "name-only", "star", "favorites"),
    ),
    "prompt render": Verb("prompt", "Print a skill as the message that a model receives", old=("render",)),
    "prompt commands": Verb("prompt", "List the slash commands", old=("commands",), like=("slash",)),
    "prompt bundle": Verb(
        "prompt", "Group skills that are used together under one name", old=("bundle",), like=("group", "collection")
    ),
    "use": Verb("prompt", "Offer only a bundle's skills in this project", "prompt", like=("profile", "profiles")),
    "clients roots": Verb("skills", "Show where Whet looks for skills", old=("roots",), like=("paths", "where")),
    "settings": Verb(
        "decisions",
        "Show your settings and the file they are in",
        "clients",
        also=("config", "clients settings"),
        like=("prefs", "options"),
    ),
    "keys create": Verb("keys", "Create a key that signs your skills", like=("keygen",)),
    "keys list": Verb("keys", "List your keys, and those of others that you trust"),
    "keys trust": Verb("keys", "Trust the signatures of a key"),
    "keys untrust": Verb("keys", "Stop trusting the signatures of a key"),
    "keys sign": Verb("keys", "Sign a skill with your key", also=("sign", "skill sign")),
    "hub init": Verb("hub", "Create a hub: its keys, its store and a token for you"),
    "hub serve": Verb("hub", "Serve a hub", like=("registry", "server")),
    "hub token": Verb("hub", "Create a token for an account"),
    "hub revoke": Verb("hub", "Revoke all tokens of an account"),
    "hub member": Verb("hub", "Give an account a role, or remove it"),
    "hub invite": Verb("hub", "Create a link that invites a person"),
    "hub queue": Verb("hub", "List the open cases of a hub, or decide one"),
    "hub rescan": Verb("hub", "Scan every version again with the current rules"),
    "hub mirror": Verb("hub", "Fetch missing skills from another hub or site"),
    "hub export": Verb("hub", "Write versions and their proofs into one file"),
    "hub import": Verb("hub", "Check the export of another hub and store what is new"),
    "hub verify": Verb("hub", "Prove that the log and the archives are intact"),
    "hub login": Verb("hub_client", "Log in to a hub", also=("login",), like=("signin", "auth", "token", "whoami")),
    "hub logout": Verb("hub_client", "Log out of a hub", also=("logout",)),
    "hub yank": Verb("hub_client", "Withdraw a version that you published", also=("yank",), like=("unpublish",)),
    "hub deprecate": Verb("hub_client", "Name the successor of a skill", also=("deprecate",)),
    "hub owner": Verb("hub_client", "Show an owner, prove its domain, or set its tier", like=("tier", "prove")),
    "hub publisher": Verb("hub_client", "Let the workflows of a repository publish", like=("trusted",)),
    "hub report": Verb(
        "hub_client", "Report a skill to the moderators of a hub", also=("report",), like=("abuse", "flag")
    ),
    "hub check": Verb("hub_client", "Check that a hub's log still contains what you saw"),
    "hub pin": Verb("hub_client", "Pin the key that signs a hub's log"),
    "mcp": Verb("connect", "Serve the library to MCP clients", "clients", like=("serve", "server")),
    "hook": Verb("connect", "Answer a connected client's hooks", "clients", like=("hooks",)),
    "completion": Verb("shell", "Print the completion script for your shell", "clients", like=("shell",)),
    "create": Verb("write", "Create a skill, or improve the one with that name", now="new"),
    "restore": Verb(
        "write",
        "Restore a removed skill, or everything in the lock",
        now="undo NAME`, `whet install` or `whet history restore FILE",
    ),
    "rollback": Verb("history", "Go back to an earlier state of a skill", now="undo NAME --to N"),
}
COMMANDS = {name: verb for name, verb in VERBS.items() if not verb.now}
"""All commands that are not replaced."""
ALL = "all"
"""`whet help all`."""
COMPLETE = "__complete"
"""The hidden command that the completion scripts call."""
_SPELLINGS: dict[str, tuple[str, list[str], bool]] = {name: (name, [], bool(verb.now)) for name, verb in VERBS.items()}
"""Typed words -> the command, the implied options, and whether it is an old spelling."""
for _name, _verb in VERBS.items():
    for _spelling in (*_verb.old, *_verb.also):
        _words, _, _option = _spelling.partition(" --")
        _SPELLINGS[_words] = (_name, [f"--{_option}"] if _option else [], _spelling in _verb.old)
_VALUED = ("--root", "--project")
_SWITCHES = ("--json", "-q", "--quiet", "-v", "--verbose", "-y", "--yes", "--no-input", "--version", "-h", "--help")
_GLOBAL = (*_VALUED, *_SWITCHES)
_SHORT = 3
"""Words up to this length are not searched for inside others."""


def read_command(arguments: list[str]) -> tuple[str, list[str], str]:
    """Return the command or group, the other words, and the old spelling if one was used.

    The global options may stand anywhere. Without a command, the first is empty. Raises UsageError with suggestions.
    """
    at = _next_word(arguments, 0)
    if at is None:
        return "", arguments, ""
    first, rest = arguments[at], arguments[:at] + arguments[at + 1 :]
    group = "skill" if first == "skills" else first
    if first == "help":
        rest = [word for word in rest if word != "--"]
        after = _next_word(rest, at)
        if after is not None and rest[after] == ALL:
            return ALL, rest[:after] + rest[after + 1 :], ""
        return read_command([*rest, "--help"])
    after = _next_word(rest, at, _GLOBAL)
    if after is not None:
        second, others = rest[after], rest[:after] + rest[after + 1 :]
        meant = _SPELLINGS.get(second, ("",))[0]
        plain = second if meant and group in ("skill", VERBS[meant].group) else ""
        for spelling in (f"{group} {second}", f"{group} {meant}", plain):
            if spelling in _SPELLINGS:
                return _meant(spelling, others)
    only_group = first in GROUPS and first not in VERBS and (not rest or {"--help", "-h"} & {*rest})
    if first in _SPELLINGS and not only_group:
        return _meant(first, rest)
    if first not in GROUPS:
        raise unknown_command(first)
    if after is not None:
        raise unknown_command(second, first)
    return first, rest, ""


def _meant(spelling: str, words: list[str]) -> tuple[str, list[str], str]:
    name, options, old = _SPELLINGS[spelling]
    return name, [*options, *words], spelling if old else ""


def _next_word(arguments: list[str], at: int, skipped: tuple[str, ...] = ()) -> int | None:
    """Return the index of the next word that is not an option; with `skipped`, only these options are skipped."""
    while at < len(arguments) and arguments[at] != "--":
        word = arguments[at]
        if not word.startswith("-"):
            return at
        if skipped and word.partition("=")[0] not in skipped:
            return None
        at += 2 if word in _VALUED else 1
    return None


def unknown_command(word: str, group: str = "") -> UsageError:
    """Return the error for an unknown command, with suggestions."""
    from whet.errors import UsageError

    near = _nearest(word, _members(group)) if group else []
    near = near or _nearest(word, VERBS)
    where = f"whet help {group}" if group else "whet help all"
    hint = f"Did you mean {' or '.join(f'`whet {name}`' for name in near)}?" if near else f"`{where}` lists them all."
    typed = f"whet {group} {word}" if group else word
    return UsageError("unknown-command", f"There is no command {typed!r}.", hint=hint, suggestions=near)


def _nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return at most three commands or groups that a person who typed the word may mean."""
    from whet.skill.names import closest

    meant: dict[str, list[str]] = {}
    for name in names:
        verb, last = VERBS[name], name.rpartition(" ")[2]
        known = (spelling.partition(" --")[0] for spelling in (*verb.old, *verb.also))
        command = verb.now.split(" ")[0] if verb.now else name
        for spelling in (name, last, *known):
            meant.setdefault(spelling, []).append(command)
        for spelling in verb.like:
            other, _, words = spelling.partition(" ")
            meant.setdefault(other, []).append(f"{command} {words}".rstrip())
    for name in GROUPS if names is VERBS else ():
        meant.setdefault(name, []).append(name)
    found = closest(word, meant, 12)
    # only the nearest word may be an old one, and its opposite (`uninstall`) is not meant
    unlikely = {one for one in found[1:] if _is_retired(one) or one == f"un{found[0]}"}
    near = meant.get(word) or [
        name
        for one in found
        if one not in unlikely
        and (one.startswith(word) or len(word) > _SHORT or (len(word) == _SHORT and word not in one))
        for name in meant[one][: 1 if one in meant[one] else None]
    ]
    return list(dict.fromkeys(near))[:3]


def _is_retired(word: str) -> bool:
    """Return whether this is an old name of a command that now has another one."""
    name, _, old = _SPELLINGS.get(word, ("", [], False))
    return old and (name == word or name.rpartition(" ")[2] != word)


def parser_of(name: str) -> tuple[Parser, Command]:
    """Return the parser of a command, by its name in the table, and the command."""
    from whet.interfaces.cli.parser import Parser

    verb = VERBS[name]
    module = __import__(f"whet.interfaces.cli.commands.{verb.module}", fromlist=["COMMANDS"])
    command: Command = module.COMMANDS[name]
    parser = Parser(name, verb.summary)
    parser.commands = list(_rows(_members(name))) if name in GROUPS else []
    command.configure(parser)
    return parser, command


def note_old(spelling: str) -> str:
    """Return the note for an old spelling."""
    name, options, _ = _SPELLINGS[spelling]
    now = VERBS[name].now or " ".join((name, *options))
    return f"`whet {spelling}` is now `whet {now}`. The old name works until the next release."


def front_screen() -> str:
    """Return the front screen, for `whet` alone: the most common commands."""
    lines = ["Whet manages the skills of your AI agents: find, write, install, check and undo.", ""]
    lines += ["Usage: whet COMMAND [OPTIONS]", ""]
    for heading in FRONT:
        lines += [heading, *_rows((name for name, verb in VERBS.items() if verb.group == heading), 10)]
    lines += [
        "",
        "More: `whet help all`. `whet COMMAND --help` explains a command.",
        "`whet disable NAME` stops offering a skill without removing it.",
    ]
    return "\n".join(lines) + "\n"


def all_commands(columns: int = 100) -> str:
    """Return the text of `whet help all`: every command, by group, and the global options."""
    from whet.interfaces.cli.parser import GLOBAL_OPTIONS, option_rows

    lines = ["Usage: whet COMMAND [OPTIONS]"]
    for heading in FRONT:
        lines += ["", heading, *_rows(_spelled(name for name, verb in VERBS.items() if verb.group == heading))]
    for group, summary in GROUPS.items():
        lines += ["", f"{group}: {summary}", *_rows(_spelled(_members(group)))]
    lines += ["", "Everywhere", *option_rows(GLOBAL_OPTIONS, columns), "", "`whet COMMAND --help` explains a command."]
    return "\n".join(lines) + "\n"


def group_screen(group: str) -> str:
    """Return the text of `whet GROUP`: the commands of a group."""
    lines = [f"Usage: whet {group} COMMAND [OPTIONS]", "", f"{GROUPS[group]}.", "", "Commands:"]
    lines += [*_rows(_members(group)), "", f"`whet {group} COMMAND --help` explains one."]
    if group == "clients":
        lines.append("`whet connect` shows your clients, `whet list --client NAME` what one finds.")
    return "\n".join(lines) + "\n"


def _members(group: str) -> Iterable[str]:
    return (name for name, verb in COMMANDS.items() if name.startswith(f"{group} ") or verb.group == group)


def _spelled(names: Iterable[str]) -> Iterator[str]:
    """Yield the commands, each with its other listed spellings."""
    return (word for name in names for word in (name, *(other for other in LISTED if _SPELLINGS[other][0] == name)))


def _rows(names: Iterable[str], column: int = 19) -> Iterator[str]:
    return (f"  {name:<{column}}{LISTED.get(name) or VERBS[name].summary}" for name in names)
