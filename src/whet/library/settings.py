"""Settings people write: `config.toml` in the state directory (or `$WHET_CONFIG`), and a project's `.whet.toml`.

Every setting is one row of `SETTINGS`; the documentation, the checks and the defaults derive from that table. A file
that is not TOML is an error, because running without it could show skills that it should hide, and so is an invalid
list of disabled skills. Any other bad value is reported and its default used; for `learn`, the lowest level. A project
may only narrow: it can disable skills, list them less prominently, make the policy stricter and have less learned from
its sessions, and only once it is trusted.
"""

from __future__ import annotations

import os
import stat
import sys

from whet.errors import NotFoundError, UsageError
from whet.library.files import Signature, raw_signature, read_file, signature
from whet.notes import Note
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

    from whet.guard.policy import MachinePolicy
    from whet.library.roots import Place
    from whet.store.clock import Clock

_MAX_FILE = 1024 * 1024
MOST_DAYS = 3650
SCOPES = ("project", "user", "org", "external")
TRUST = ("org", "local", "trusted", "directory", "community", "agent-created", "project", "external")
"""Levels of trust: the rows of the policy, and the two kinds of trusted places."""
SANDBOX = ("required", "off")
LEARN = ("off", "note", "propose", "write")
"""Treatment of difficult sessions, from none to the most."""
AUTO_UPDATE = ("off", "notify", "safe")
"""Treatment of updates without a request."""
LISTING = ("always", "normal", "name", "manual")
"""Ways to list a skill for a model: first and in full, as the budget allows, without its description, not at all."""
CHOICES = {"sandbox": SANDBOX, "learn": LEARN, "auto_update": AUTO_UPDATE}
"""The values of settings of the kind `choice`."""
PROJECT_FILE = ".whet.toml"
_RETIRED = {
    "bundled_skills": "Delete the line. `whet gallery` lists the skills that ship with Whet; add those you want."
}
"""Settings of earlier versions -> their replacement."""
_RETIRED_WORDS = {"precedence": "bundled", "inline_shell": "builtin"}
"""Words in lists of earlier versions that no longer have a meaning."""


class Setting(NamedTuple):
    """One setting: its name, kind, default and help."""

    name: str
    kind: str
    """`boolean`, `number`, `days` (0 or more), `text`; `choice`: one of its `CHOICES`; `names`, `directories`: lists
    of strings; `levels`: a list of `TRUST`; `tables`: a list for each word; `map`: a directory for each; `texts`: a
    text for each; `values`: anything for each word, nested tables being words with dots; `policy`: an action for each
    trust and verdict."""
    default: Any
    help: str


SETTINGS = (
    Setting(
        "precedence",
        "names",
        SCOPES,
        "The order of scopes, highest precedence first, when two skills have the same name.",
    ),
    Setting("clients", "names", (), "Read only these clients' directories (default: every client Whet knows)."),
    Setting("external", "directories", (), "More directories of skills, in the scope `external`."),
    Setting("plugins", "map", {}, "Directories whose skills are named `plugin:skill`."),
    Setting("links", "directories", (), "Directories outside the roots that links in a root may point to."),
    Setting("disabled", "names", (), "Skills to disable."),
    Setting("disabled_on", "tables", {}, "Skills to disable on one surface, such as `mcp`."),
    Setting(
        "listing",
        "tables",
        {},
        "How skills are listed for a model: those under `always` first and in full, those under `name` without "
        "their descriptions, those under `manual` not at all.",
    ),
    Setting("use", "text", "", "The bundle that projects use unless `whet use` chooses another (default: none)."),
    Setting("project_skills", "boolean", True, "Look for skills in the repository around the working directory."),
    Setting(
        "inline_shell", "levels", (), f"Trust levels whose skills may run inline commands: any of {', '.join(TRUST)}."
    ),
    Setting("sandbox", "choice", "required", "Whether inline commands need a sandbox: `required` or `off`."),
    Setting("policy", "policy", {}, "What to do with a skill, by trust and verdict, such as `community.caution`."),
    Setting("trusted_sources", "names", (), "More sources to trust, such as `acme/skills`."),
    Setting(
        "private_hosts", "names", (), "Hosts on private networks, or without TLS, that skills may be fetched from."
    ),
    Setting(
        "min_age",
        "days",
        3,
        "Days to wait before Whet installs what a community source has published; 0 does not wait.",
    ),
    Setting(
        "require_signature",
        "boolean",
        False,
        "Install and update skills from other machines only if a key that you trust signed them (`whet keys trust`).",
    ),
    Setting(
        "auto_update",
        "choice",
        "off",
        "What connected clients do about updates once a day: `off` (nothing), `notify` (say what is newer), `safe` "
        "(also make updates of skills you did not edit that have a clean verdict and no new powers).",
    ),
    Setting("network_timeout", "number", 30, "Seconds to wait for an answer before a fetch fails."),
    Setting("skill_settings", "values", {}, "Values for the settings that skills declare, such as `wiki.path`."),
    Setting("exact_tokens", "boolean", True, "Count tokens exactly when the extra `tokens` is installed."),
    Setting(
        "model",
        "text",
        "",
        "The language model to use, such as `openai:gpt-5`; several, separated by commas, vote (default: none).",
    ),
    Setting(
        "models",
        "texts",
        {},
        "The models that `whet run` uses for the names in skills, such as `sonnet`.",
    ),
    Setting(
        "run_on",
        "text",
        "",
        "Where runs start programs: `sandbox`, `docker:IMAGE`, `podman:IMAGE` or `ssh:HOST` (default: sandbox).",
    ),
    Setting(
        "run_days",
        "days",
        30,
        "Days to keep a run and its copy of the project after its last use; 0 keeps all runs.",
    ),
    Setting(
        "mcp_servers",
        "directories",
        (),
        "Files that declare MCP servers, such as `~/.claude.json`; runs use those that a skill is granted.",
    ),
    Setting(
        "learn",
        "choice",
        "propose",
        "What to do after a difficult session: `off` (nothing), `note` (keep it for `whet learn sessions`), `propose` "
        "(propose skills), `write` (also write to skills that agents made).",
    ),
    Setting("stage_writes", "boolean", False, "Make every change to a skill wait for approval."),
    Setting("stale_days", "number", 30, "Days without use before the curator marks an agent's skill as stale."),
    Setting("archive_days", "number", 90, "Days without use before the curator archives it."),
    Setting("depth", "number", 6, "How deep below a root to look for skills."),
    Setting("max_directories", "number", 200_000, "How many directories to search in one root."),
)
PROJECT_SETTINGS = frozenset(("disabled", "listing", "policy", "learn", "use"))
_HIDING = {
    "disabled": "Write `disabled` as a list of quoted names.",
    "disabled_on": "Write `disabled_on` as a table of surfaces, each with a list of quoted names.",
    "listing": f"Write `listing` as lists of quoted names under {', '.join(LISTING)}.",
    "min_age": f"Write `min_age` as a whole number of days, from 0 to {MOST_DAYS:,}.",
    "policy": "In `policy`, set `allow`, `ask` or `block` for `safe`, `caution` or `dangerous` of a trust level.",
}
"""Settings that must be valid, with how to write them: ignoring them would do more than was intended."""


class Settings(NamedTuple):
    """The settings in force; fields are the names of `SETTINGS`."""

    precedence: tuple[str, ...] = SCOPES
    clients: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    plugins: tuple[tuple[str, str], ...] = ()
    links: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    disabled_on: tuple[tuple[str, tuple[str, ...]], ...] = ()
    listing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    use: str = ""
    project_skills: bool = True
    inline_shell: tuple[str, ...] = ()
    sandbox: str = "required"
    policy: tuple[tuple[str, str, str], ...] = ()
    """Trust, verdict, action."""
    trusted_sources: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    min_age: int = 3
    require_signature: bool = False
    auto_update: str = "off"
    network_timeout: int = 30
    skill_settings: tuple[tuple[str, Any], ...] = ()
    exact_tokens: bool = True
    model: str = ""
    models: tuple[tuple[str, str], ...] = ()
    run_on: str = ""
    run_days: int = 30
    mcp_servers: tuple[str, ...] = ()
    learn: str = "propose"
    stage_writes: bool = False
    stale_days: int = 30
    archive_days: int = 90
    depth: int = 6
    max_directories: int = 200_000


MACHINE_SETTINGS = (
    Setting("allowed_sources", "names", None, "The only sources that skills may come from."),
    Setting("min_age", "days", 0, "The minimum age, in days, of anything from another machine, even an exact version."),
    Setting("forbidden_rules", "names", (), "Rules of the guard; a skill with such a finding is blocked."),
    Setting(
        "trusted_keys", "names", None, "The only signers that count; unsigned skills from other machines are refused."
    ),
    Setting("overrides", "boolean", True, "Whether a person may allow what the policy asks about or blocks."),
    Setting("policy", "policy", {}, "The least strict decision about a skill, by trust and verdict."),
)
"""The settings of an administrator's policy. Every line only tightens it."""


Read: TypeAlias = tuple[Settings, tuple[Note, ...]]
"""Settings, and the problems of their file."""


def config_path(state: str, env: Mapping[str, str]) -> str:
    """Return the path of the user's settings."""
    named = env.get("WHET_CONFIG")
    home = env.get("HOME") or env.get("USERPROFILE") or "~"
    if not named:
        return os.path.join(state, "config.toml")
    return expand(named, home)


def expand(path: str, home: str) -> str:
    """Return the path with a leading `~` replaced; another user's `~name` is not looked up."""
    return home + path[1:] if path == "~" or path.startswith(("~/", "~\\")) else path


class PolicyFile(NamedTuple):
    """The file of a machine's policy."""

    path: str
    owner: int | None
    """The required owner of the file and its directory; None if owners cannot be determined."""


def machine_policy_file() -> PolicyFile:
    """Return the file of the administrator's policy on this machine. No environment variable changes it."""
    if sys.platform == "darwin":
        return PolicyFile("/Library/Application Support/whet/policy.toml", 0)
    if sys.platform == "win32":
        return PolicyFile(os.path.join(_program_data(), "whet", "policy.toml"), None)
    return PolicyFile("/etc/whet/policy.toml", 0)


def _program_data() -> str:
    """Return the directory for all users of a Windows machine from the registry: a variable can be changed."""
    try:
        import winreg
    except ImportError:
        return r"C:\ProgramData"
    place = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList"
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:  # type: ignore[attr-defined,unused-ignore]  # only there
        return str(winreg.ExpandEnvironmentStrings(winreg.QueryValueEx(key, "ProgramData")[0]))  # type: ignore[attr-defined,unused-ignore]  # only there


class SettingsReader:
    """Reads the settings files of one place, each once until it changes."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self._place = place
        self._clock = clock
        self._known: dict[str, tuple[Signature, Read]] = {}
        self._machine: tuple[Signature, MachinePolicy] | None = None

    def read_user(self) -> Read:
        """Return the user's settings and their problems."""
        place = self._place
        path, named = config_path(place.state, place.env), bool(place.env.get("WHET_CONFIG"))
        absent = None if named else (Settings(), ())
        return self._remember(path, absent, lambda: read_settings(path, home=place.home, named=named))

    def read_project(self, root: str) -> Read:
        """Return the settings of the (trusted) project at `root`; see `read_project_settings`."""
        path = os.path.join(root, PROJECT_FILE)
        absent = Settings(learn=""), ()
        return self._remember(path, absent, lambda: read_project_settings(root, home=self._place.home))

    def read_machine(self) -> MachinePolicy | None:
        """Return the administrator's policy of this machine, which nobody else can change; None if there is none."""
        file = machine_policy_file()
        try:
            found = raw_signature(os.lstat(file.path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return read_machine_policy(file)
        if self._machine is None or self._machine[0] != found:
            self._machine = found, read_machine_policy(file)
        return self._machine[1]

    def _remember(self, path: str, absent: Read | None, read: Callable[[], Read]) -> Read:
        """Read a file once until it changes; `absent` is the result if the file is missing, None if it must exist."""
        try:
            status = os.lstat(path)  # before it is read
        except OSError:
            return read() if absent is None else absent
        if stat.S_ISLNK(status.st_mode):
            try:
                status = os.stat(path)
            except OSError:
                return read()
        known = self._known.get(path)
        if known is None or known[0] != raw_signature(status):
            seen = signature(status, self._clock())
            known = self._known[path] = seen, read()
        return known[1]


def read_settings(path: str, *, home: str, named: bool = False) -> Read:
    """Read the user's settings and their problems. Only a file that was `named` must exist."""
    if named and not os.path.exists(path):
        raise UsageError("bad-config", f"WHET_CONFIG names {path}, which does not exist.", hint="Fix it or unset it.")
    return _check(_load(path), path, home, frozenset(setting.name for setting in SETTINGS))


def read_machine_policy(file: PolicyFile) -> MachinePolicy:
    """Read the policy in a file. If it has a `problem`, nothing is allowed."""
    from whet.guard.policy import MachinePolicy

    def wrong(problem: str) -> MachinePolicy:
        return MachinePolicy(file.path, problem=problem)

    if problem := _ownership_problem(file):
        return wrong(problem)
    try:
        found = _load(file.path)
    except UsageError as error:
        return wrong(f"It {error.message.removeprefix(f'{file.path} ')}")
    known = {setting.name: setting for setting in MACHINE_SETTINGS}
    values: dict[str, Any] = {}
    for name, raw in found.items():
        if name not in known:
            return wrong(f"{name} is not a setting of the policy; the settings are {', '.join(known)}.")
        value = _value(known[name].kind, raw, "", "/")
        if value is None:
            return wrong(f"{name} is {raw!r}, which is not {_KINDS[known[name].kind]}.")
        values["cells" if name == "policy" else name] = value
    policy = MachinePolicy(file.path, **values)
    return wrong(problem) if (problem := _find_invalid(policy)) else _with_real_paths(policy)


_KINDS = {
    "names": "a list of texts",
    "days": f"a number of days from 0 to {MOST_DAYS}",
    "boolean": "true or false",
    "policy": "a table of `allow`, `ask` or `block` for `safe`, `caution` and `dangerous` of trust levels",
}


def _ownership_problem(file: PolicyFile) -> str:
    """Return why a file cannot be an administrator's: others own it or can write it. Links count as their targets."""
    for path, what in ((file.path, "It"), (os.path.dirname(file.path), "Its directory")):
        try:
            status = os.stat(path)
        except OSError as error:
            return f"{what} cannot be read: {error.strerror}."
        if file.owner is not None and status.st_uid != file.owner:
            return f"{what} belongs to the user {status.st_uid}, not to the administrator."
        if file.owner is not None and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{what} can be written by others (mode {stat.S_IMODE(status.st_mode):04o})."
        if what == "It" and not stat.S_ISREG(status.st_mode):
            return "It is not a file."
    return ""


def _find_invalid(policy: MachinePolicy) -> str:
    """Return the first invalid entry of a policy: following only the rest would allow too much."""
    from whet.guard.trust import address_of

    for source in policy.allowed_sources or ():
        if not address_of(source):
            return f"{source!r} in allowed_sources is not a source."
    for key in policy.trusted_keys or ():
        from whet.skill.signature import is_signer

        if not is_signer(key):
            return f"{key!r} in trusted_keys is not a key or an identity."
    if policy.forbidden_rules:
        from whet.guard.rules import every

        for rule in policy.forbidden_rules:
            if rule not in every():
                return f"{rule!r} in forbidden_rules is not a rule of the guard."
    return ""


def _with_real_paths(policy: MachinePolicy) -> MachinePolicy:
    """Return the policy with directories as resolved paths."""
    if policy.allowed_sources is None:
        return policy
    places = (os.path.realpath(each) if os.path.isabs(each) else each for each in policy.allowed_sources)
    return policy._replace(allowed_sources=tuple(places))


def read_project_settings(root: str, *, home: str) -> Read:
    """Read a project's settings: disabled or less prominent skills, its policy, and `learn` ("" if missing)."""
    path = os.path.join(root, PROJECT_FILE)
    found = _load(path)
    settings, notes = _check(found, path, home, PROJECT_SETTINGS)
    return (settings if "learn" in found else settings._replace(learn="")), notes


def lowered(settings: Settings, project: Settings, root: str) -> Read:
    """Return the user's settings, lowered by the project at `root`, and notes on values that would raise them."""
    if not project.learn or LEARN.index(project.learn) <= LEARN.index(settings.learn):
        return settings._replace(learn=project.learn or settings.learn), ()
    path, hint = (
        os.path.join(root, PROJECT_FILE),
        ("A project can only lower this setting. To raise it, change your own config.toml."),
    )
    return settings, (Note("learn-raised", "warning", f"learn = {project.learn!r} is ignored.", hint, path=path),)


def _load(path: str) -> dict[str, object]:
    if not os.path.lexists(path):
        return {}
    import tomllib

    try:
        data = read_file(path, _MAX_FILE + 1)
        if len(data) > _MAX_FILE:
            message = f"{path} is larger than {_MAX_FILE:,} bytes and is ignored."
            raise UsageError("bad-config", message, hint="Shorten the file, or remove it to use the defaults.")
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            "bad-config",
            f"{path} is not valid TOML: {error}.",
            hint="Fix the file, or remove it to use the defaults.",
        ) from error
    except OSError as error:
        raise UsageError(
            "bad-config", f"{path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error


def _check(found: Mapping[str, object], path: str, home: str, allowed: frozenset[str]) -> Read:
    values: dict[str, Any] = {}
    notes: list[Note] = []
    settings = {setting.name: setting for setting in SETTINGS if setting.name in allowed}
    for name, raw in found.items():
        if name in _RETIRED and allowed > PROJECT_SETTINGS:
            notes.append(Note("retired-setting", "info", f"{name} no longer has an effect.", _RETIRED[name], path=path))
            continue
        if name not in settings:
            known = ", ".join(sorted(settings))
            yours = any(setting.name == name for setting in SETTINGS)
            message = f"{name} is ignored: a project cannot set it." if yours else f"{name} is not a setting."
            notes.append(Note("unknown-setting", "warning", message, f"Settings: {known}.", path=path))
            continue
        kept = [word for word in raw if word != _RETIRED_WORDS.get(name)] if isinstance(raw, list) else raw
        value = _value(settings[name].kind, kept, home, os.path.dirname(path))
        if name in CHOICES and raw not in CHOICES[name]:
            value = None
        if name == "listing" and value and not {mode for mode, _ in value} <= {*LISTING}:
            value = None
        if value is None and name in _HIDING:
            raise UsageError("bad-config", f"{name} in {path} is {raw!r}.", hint=_HIDING[name])
        if value is None or (name == "precedence" and sorted(value) != sorted(SCOPES)):
            used = "the default is used"
            if name == "learn":  # less than was intended, never more
                values[name], used = LEARN[0], f"it counts as {LEARN[0]!r}"
            notes.append(
                Note("bad-setting", "warning", f"{name} is {raw!r}; {used}.", _how_to_write(settings[name]), path=path)
            )
            continue
        if name == "clients":
            value, said = _read_labels(value, path)
            notes.extend(said)
        values[name] = value
    return Settings(**values), tuple(notes)


def _how_to_write(setting: Setting) -> str:
    """Return the hint for a setting with a bad value."""
    if setting.name == "precedence":
        return f"Write `precedence` as a list of all of these, in your order: {', '.join(SCOPES)}."
    kinds = {
        "boolean": "`true` or `false`",
        "number": "a whole number of at least 1",
        "days": f"a whole number of days, from 0 to {MOST_DAYS:,}",
        "text": "text in quotes",
        "choice": f"one of {', '.join(CHOICES.get(setting.name, ()))}, in quotes",
        "names": "a list of quoted names",
        "directories": "a list of quoted paths",
        "levels": f"a list of {', '.join(TRUST)}",
        "map": "a table of names, each with a quoted path",
        "texts": "a table of names, each with a quoted text",
        "values": "a table",
    }
    return f"Write `{setting.name}` as {kinds[setting.kind]}."


def _read_labels(names: tuple[str, ...], path: str) -> tuple[tuple[str, ...], list[Note]]:
    """Return the clients whose directories are read, and notes on names of former clients."""
    from whet.library.clients import DIRECTORIES, FORMER, client_named

    labels, notes = [], []
    known = {one.client for one in DIRECTORIES}
    for name in names:
        label = FORMER.get(name, name)
        if label != name:
            message = f"clients names {name!r}, which is called {label!r} now; it counts as {label!r}."
            notes.append(Note("former-client", "info", message, f"Write {label!r} instead.", path=path))
        elif name not in known:
            try:
                label = client_named(name).directory.client
            except NotFoundError as error:
                notes.append(Note("unknown-client", "warning", f"clients: {error.message}", error.hint, path=path))
        labels.append(label)
    return tuple(labels), notes


def _value(kind: str, raw: Any, home: str, base: str) -> Any:
    """Return the setting's value in its final form, or None if it has the wrong type."""
    if kind == "boolean":
        return raw if isinstance(raw, bool) else None
    if kind == "number":
        return raw if isinstance(raw, int) and not isinstance(raw, bool) and raw > 0 else None
    if kind == "days":
        return raw if type(raw) is int and 0 <= raw <= MOST_DAYS else None
    if kind in ("text", "choice"):
        return raw if isinstance(raw, str) and "\0" not in raw else None
    if kind == "names":
        if isinstance(raw, str):  # one name, meant as a list of one
            return (raw,)
        return tuple(raw) if isinstance(raw, list) and all(isinstance(i, str) and "\0" not in i for i in raw) else None
    if kind == "levels":
        names = _value("names", raw, home, base)
        return names if names is not None and set(names) <= set(TRUST) else None
    if kind == "directories":
        names = _value("names", raw, home, base)
        return None if names is None else tuple(_directory(name, home, base) for name in names)
    if not isinstance(raw, dict):
        return None
    if kind == "values":
        return tuple(_flatten(raw))
    if kind == "policy":
        return _policy(raw)
    if kind in ("map", "texts"):
        if not all(isinstance(item, str) for item in raw.values()):
            return None
        return tuple((name, item if kind == "texts" else _directory(item, home, base)) for name, item in raw.items())
    lists = {name: _value("names", item, home, base) for name, item in raw.items()}
    return None if None in lists.values() else tuple(lists.items())


def _policy(table: Mapping[str, object]) -> tuple[tuple[str, str, str], ...] | None:
    """Return every cell of a policy, or None if one of them is invalid."""
    from whet.guard.finding import LABELS
    from whet.guard.policy import ACTIONS

    cells = []
    for trust, row in table.items():
        if not isinstance(row, dict):
            return None
        for verdict, action in row.items():
            if verdict not in LABELS or action not in ACTIONS:
                return None
            cells.append((trust, verdict, action))
    return tuple(cells)


def _flatten(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of a table by its path, such as `wiki.path`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _directory(text: str, home: str, base: str) -> str:
    return os.path.normpath(os.path.join(base, expand(text, home)))
