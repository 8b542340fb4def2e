"""The steps that led there: what finally worked, in order, without the looking around and the failed attempts.

Calls are first turned into steps one by one; then attempts at the same thing become one (the last that worked), edits
of one file become one, and a script that was written and run keeps its text once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.shell.wrappers import INTERPRETERS
from whet.learning.facts.criteria import TESTING, criterion
from whet.learning.facts.goal import starts_with_verb
from whet.learning.facts.knowledge import language_of, outline, signatures
from whet.learning.facts.model import Step
from whet.learning.facts.parameters import identifiers
from whet.learning.facts.prose import bare, capital, shorten, spoken
from whet.learning.facts.shell import main_program, only_looks, programs, shape, tidy
from whet.learning.facts.tool_calls import parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.facts.tool_calls import Act

LONGEST = 160
_SAYS_NOTHING = re.compile(
    r"(?i)\A(?:here|this|that|there|it|the|all|everything|done|i|you|both|these|no|yes|my|we|try|retry|do|go|see|proceed"
    r"|continue|use (?:the )?\w+ tool)\b|\b(?:skills?|todo|tool ?search|load the tools?)\b"
)
_INSTALLS = re.compile(
    r"\b(?:(?:pip3?|pipx|uv|poetry|conda|mamba|npm|pnpm|yarn|bun|apt|apt-get|dnf|yum|brew|gem|cargo|go|snap|apk)"
    r"(?: pip)? (?:install|add|i)|pip install)\s([^\n|;&<>]{1,300})"
)
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//|--)[ \t]*([A-Za-z][^\n]{8,120})$")
_DOCSTRING = re.compile(r"\A\s*(?:\"\"\"|''')\s*([A-Za-z][^\n\"]{8,120})")
_INLINE = re.compile(r"<<-?\s*['\"]?\w+|\s-[ce]\s")
_LISTS = re.compile(r"(?:\s--?(?:list|check|verify|dry-run|status)\b|\s-l\s)")
_IN_PLACE = re.compile(r"\b(?:sed|perl|gawk|yq)\b[^|;&\n]{0,80}\s(?:-[a-zA-Z]*i\b|--in-place)")
_CHECKOUT = re.compile(
    r"\bgit (?:-C \S+ )?checkout (?:(?P<new>-[bB]\b)"
    r"|(?P<file>--\s|(?:HEAD\S* )?(?:-- )?[\w./-]*\w\.[A-Za-z]\w{0,8}(?=\s|\Z)))"
)
_CHECKOUTS = {"new": "Start a branch", "file": "Restore the file"}
_PARTS = 4
"""Parts of a command that its title names."""
_PLAIN = {
    "git commit": "Commit the changes",
    "git push": "Push the commits",
    "git tag": "Set the tag",
    "git clone": "Clone the repository",
    "git add": "Stage the changes",
    "git merge": "Merge the branch",
    "git rebase": "Rebase the branch",
    "git revert": "Revert the commit",
    "git apply": "Apply the patch",
    "git checkout": "Switch to the branch or file",
    "git mv": "Move the files",
    "git switch": "Switch to the branch",
    "git fetch": "Fetch from the remote",
    "git pull": "Pull from the remote",
    "gh pr create": "Open the pull request",
    "docker build": "Build the image",
    "docker push": "Push the image",
}
"""Sub-commands that everybody calls the same."""


def intent(said: str) -> str:
    """What the assistant said it would do next, as an imperative; empty when it only reported."""
    sentences = list(spoken(said[-1_500:]))
    for sentence in reversed(sentences[-4:]):
        text = bare(sentence)
        announced = text != sentence
        if announced and 3 <= len(text.split()) <= 30 and not _SAYS_NOTHING.search(text) and "?" not in text:
            return shorten(capital(text.rstrip(" .:!…")), LONGEST)
    return ""


def purpose(act: Act) -> str:
    """What a call is for, as far as anybody said so."""
    described = shorten(act.text("description"), LONGEST)
    return described if len(described.split()) > 1 else intent(act.said) or intent(act.thought)


def command_title(act: Act, command: str) -> str:
    """What a command is called when it speaks for itself or somebody said what it is for; empty otherwise."""
    if found := _INSTALLS.search(command):
        wanted = [word.strip("\"'") for word in found[1].split() if not word.startswith("-")]
        if wanted and all(re.match(r"[\w@./\[\]=<>~{}-]+\Z", word) for word in wanted):
            return shorten("Install " + ", ".join(f"`{word}`" for word in wanted[:5]), LONGEST)
        return f"Install what is needed with `{found[0].partition(' ')[0]}`"
    return purpose(act) or next(_told(command), "")


def _told(command: str) -> Iterator[str]:
    """What the comments of a script say that it does."""
    start = _INLINE.search(command)
    if "\n" in command and start:
        script = command[start.end() :]
        for found in (*_DOCSTRING.finditer(script), *_COMMENT.finditer(script)):
            if starts_with_verb(found[1]) and not re.search(r"[=;{}]", found[1]):
                yield shorten(capital(found[1].rstrip(" .:")), LONGEST)


def fallback(command: str) -> str:
    """What a command is called when nobody said anything."""
    main, does = main_program(command), shape(command)
    if TESTING.search(command):
        return f"Run the tests with `{main}`"
    if len(does) > 1 and any(one in _PLAIN for one in does):
        named = [one for one in does if one != "git add" or "git commit" not in does]
        return _listed([_called(one, command) for one in named[:_PARTS]])
    if main in _PLAIN and not _LISTS.search(command):
        return _called(main, command)
    if _LISTS.search(command) and len(does) == 1 and not _IN_PLACE.search(command) and main not in INTERPRETERS:
        return f"Check with `{main}`"
    if main in INTERPRETERS:
        script = re.search(r"([\w-]{1,60}\.(?:py|sh|js|mjs|ts|rb|pl|php|R|jl))\b", command)
        return f"Run `{script[1]}`" if script and "<<" not in command else f"Run this {main.rstrip('3')} script"
    if _IN_PLACE.search(command):
        return f"Change the files with `{main}`"
    return f"Run `{main}`" if any(one.label for one in programs(command)) else "Set the shell up"


def _called(label: str, command: str) -> str:
    """What everybody calls a program's work."""
    if label == "git checkout":
        kind = _CHECKOUT.search(command)
        return _CHECKOUTS[kind.lastgroup or ""] if kind else _PLAIN[label]
    return _PLAIN.get(label, f"Run `{label}`")


def _listed(titles: list[str]) -> str:
    """Several in a sentence."""
    told = list(dict.fromkeys(titles))
    rest = [f"{one[:1].lower()}{one[1:]}" for one in told[1:]]
    return " and ".join(filter(None, (", ".join((told[0], *rest[:-1])), *rest[-1:])))


def says_little(title: str) -> bool:
    """Is it one of the titles that nobody gave?"""
    plain = {one.lower() for one in (*_PLAIN.values(), *_CHECKOUTS.values())}
    return title.startswith(("Run ", "Check with `", "Set the shell up", "Change the files with `")) or all(
        part.lower() in plain or part.startswith("run `") for part in re.split(r", | and ", title)
    )


_LOOKED_BACK = 12
"""Steps among which an earlier attempt at the same thing is looked for."""
_SAME = 0.6
"""The share of words that two attempts at the same thing have in common."""
_NEARLY = 0.9
"""The same when their options differ."""
_BATCH = 0.4
"""The same for parts of the work that are handed out one by one."""
_INTERPRETED = re.compile(r"(?:python3?|node|ruby|perl|php)\b[^\n<]{0,40}(?:\s-(?:c|e)\s|<<)")
_LEAVES = re.compile(
    r"""open\([^)\n]{0,200},\s*(?:mode=)?["'][wax]|\.(?:to_\w+|save\w*|dump|write\w*|mkdir|rename|unlink|commit|post|put)\("""
    r"|subprocess|os\.(?:system|remove|makedirs)|shutil|fs\.write|>\s*[\w./{~-]+\s*\Z"
)
"""What a script does that leaves something behind."""
_COMPARED = 16_000
"""Characters of an action that are compared or kept."""


def joined(steps: list[Step]) -> list[Step]:
    """The steps with everything that is one made one."""
    return _numbered_joined(_edits_joined(_retries_dropped(_probes_joined(_searches_joined(steps)))))


def _searches_joined(steps: list[Step]) -> list[Step]:
    """Looks in a row at the same kind of thing are one step."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        if last and step.weight < 0.5 and last.weight < 0.5 and last.tool == step.tool and len(last.action) < 600:
            lines = last.action.split("\n") if last.action else [last.title]
            action = "\n".join(dict.fromkeys([*lines, step.title]))
            joined[-1] = last._replace(action=action, evidence=(*last.evidence, *step.evidence))
        else:
            joined.append(step)
    return joined


def _probes_joined(steps: list[Step]) -> list[Step]:
    """Of scripts in a row that only print something, the last one has what the others were looking for."""
    joined: list[Step] = []
    for step in steps:
        if joined and _is_probe(step) and _is_probe(joined[-1]):
            before = joined.pop()
            title = before.title if says_little(step.title) else step.title
            joined.append(step._replace(title=title, evidence=(*before.evidence, *step.evidence)))
        else:
            joined.append(step)
    return joined


def _is_probe(step: Step) -> bool:
    """Is it a script given on the spot that leaves nothing behind?"""
    return step.tool == "Bash" and _INTERPRETED.match(step.action) is not None and not _LEAVES.search(step.action)


def _numbered_joined(steps: list[Step]) -> list[Step]:
    """Files in a row whose names differ only by a number are written by one step."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        pattern = re.sub(r"\d+", "*", step.title)
        if last and step.tool == last.tool == "Write" and pattern == re.sub(r"\d+", "*", last.title) != step.title:
            checked = re.sub(r"`[^`]*`", f"`{pattern.partition('`')[2].rstrip('`')}`", step.criterion, count=1)
            joined[-1] = last._replace(title=pattern, criterion=checked, evidence=(*last.evidence, *step.evidence))
        else:
            joined.append(step)
    return joined


def _retries_dropped(steps: list[Step]) -> list[Step]:
    """The same thing done again replaces what came of it before; it stands where it was done last."""
    kept: list[Step] = []
    for new in steps:
        step = new
        for at in range(len(kept) - 1, max(-1, len(kept) - 1 - _LOOKED_BACK), -1):
            if _again(kept[at], step):
                before = kept.pop(at)
                same = len(before.action) > 3 * len(step.action) and before.tool == "Write"
                step = step._replace(
                    evidence=(*before.evidence, *step.evidence),
                    why=before.why or step.why,
                    title=step.title if says_little(before.title) else before.title,
                    action=before.action if same else step.action,
                )
                break
        kept.append(step)
    return kept


def _again(one: Step, other: Step) -> bool:
    if one.tool != other.tool:
        return False
    if one.tool == "Task":
        return _likeness(one.action, other.action) >= _BATCH
    if one.tool != "Bash":
        return one.tool == "Write" and one.title == other.title
    mine, theirs = shape(one.action), shape(other.action)
    if mine != theirs:
        return False
    likeness = _likeness(one.action, other.action)
    return likeness >= _SAME and (_options(one.action) == _options(other.action) or likeness >= _NEARLY)


def _options(action: str) -> set[str]:
    """The options of a command of one line; a script has none."""
    return set(re.findall(r"(?<=\s)--?[A-Za-z][\w-]*", action)) if "\n" not in action else set()


def _likeness(one: str, other: str) -> float:
    """How many of the words of two texts are the same."""
    mine, theirs = set(re.findall(r"\w+", one[:_COMPARED])), set(re.findall(r"\w+", other[:_COMPARED]))
    return len(mine & theirs) / max(1, len(mine | theirs))


def _edits_joined(steps: list[Step]) -> list[Step]:
    """Edits of one file in a row are one step; edits of a file that the session wrote belong to the writing."""
    joined: list[Step] = []
    wrote: dict[str, int] = {}
    for step in steps:
        path = step.title.partition("`")[2].rstrip("`") if step.tool in ("Write", "Edit") else ""
        if step.tool == "Write":
            wrote[path] = len(joined)
        elif step.tool == "Edit":
            last = joined[-1] if joined else None
            if path in wrote:
                at = wrote[path]
                joined[at] = joined[at]._replace(evidence=(*joined[at].evidence, *step.evidence))
                continue
            if last and last.tool == "Edit" and last.title == step.title:
                action = f"{last.action}\n…\n{step.action}" if last.action != step.action else last.action
                joined[-1] = last._replace(action=action[:_COMPARED], evidence=(*last.evidence, *step.evidence))
                continue
        joined.append(step)
    return joined


MOST = 40
"""Steps of one session; the heaviest are kept."""
ACTION = 16_000
"""Characters of one action."""
_FEW = 3
"""Steps below which looking was the work: a search, a review."""
_INVESTIGATES = re.compile(r"(?i)\b(?:find (?:out|the)|why|cause|diagnos\w+|investigat\w+|debug|reproduce|look into)\b")
"""A request in which looking is half of the work."""
_SEARCHES = frozenset(("grep", "rg", "find", "jq", "fd", "ag", "ack"))
_KEEPS = re.compile(r"\s*(?:git|ls|cat|head|wc|rm|chmod|ruff|eslint|mypy|black|prettier)\s")
"""Commands that name a file and do not use it."""
_SCRIPT = re.compile(r"\A#!|^if __name__ ==", re.MULTILINE)
_ADDED = re.compile(r"\s*\d{1,6}\s*\+ ?(.*)\Z")
_TEXTS = {"Write": "content", "Edit": "new"}
"""Where the tools that change files have what they put in."""
_PATHS = ("path", "notebook_path", "file")


def steps_of(found: Sequence[Act], homes: Sequence[str], request: str) -> tuple[Step, ...]:
    """The steps of a session, in the order in which they finally worked."""
    worked = amended([act for act in found if not act.failed])
    used = _handed_on(worked)
    ran = "\n".join(part for act in worked for part in parts(act.text("command")) if not _KEEPS.match(part))
    if _INVESTIGATES.search(request):
        used |= {act.at for act in worked if _examines(act)}
    steps = [step for act in worked if not _looks(act, used) and (step := _step(act, homes, ran))]
    if len(steps) < _FEW:
        some = bool(steps)
        found_out = (_searched(act, homes, ran, some=some) or _look(act, homes, request) for act in worked)
        steps = [step for step in found_out if step]
    steps = joined(steps)
    if len(steps) > MOST:
        lightest = sorted(range(len(steps)), key=lambda at: (-steps[at].weight, at))[:MOST]
        steps = [steps[at] for at in sorted(lightest)]
    return tuple(steps)


def _looks(act: Act, used: set[int]) -> bool:
    """Is it only looking around, and did nothing later come out of it?"""
    if act.tool == "Bash":
        return only_looks(act.text("command")) and act.at not in used
    return act.tool in ("Read", "Search", "Web", "LS", "Glob", "Grep")


def _examines(act: Act) -> bool:
    """Is it a question to a system, such as its logs or history, as opposed to a glance at a file?"""
    return act.tool == "Bash" and any(ran.looks and " " in ran.label for ran in programs(act.text("command")))


def _searched(act: Act, homes: Sequence[str], ran: str, *, some: bool) -> Step | None:
    """A step of a session that mostly looked; a glance at a file or a directory counts when there is nothing else."""
    command = act.text("command")
    glances = command and only_looks(command) and not _SEARCHES & {ran.label for ran in programs(command)}
    return None if glances and some else _step(act, homes, ran)


def _handed_on(found: Sequence[Act]) -> set[int]:
    """The looks that brought an identifier which a step was given and nobody had named before."""
    brought: dict[str, int] = {}
    named: set[str] = set()
    used: set[int] = set()
    for act in found:
        command = act.text("command") if act.tool == "Bash" else ""
        if not command:
            continue
        looks = only_looks(command)
        for value in identifiers(command[:4_000]):
            if value not in named and value in brought and not looks:
                used.add(brought[value])
            named.add(value)
        if looks:
            for value in identifiers(act.output[:4_000]) - named:
                brought.setdefault(value, act.at)
    return used


def _step(act: Act, homes: Sequence[str], ran: str) -> Step | None:
    command = act.text("command")
    if command:
        return _command(act, tidy(command, homes))
    why = purpose(act)
    path = next((act.text(key) for key in _PATHS if act.text(key)), "")
    if act.tool == "Write":
        text, language = outline(path, act.text("content"))
        text = text if _SCRIPT.search(text) or _runs(path, ran) else signatures(text)
        return Step(f"Write `{path}`", act.tool, text[:ACTION], why, criterion(act), (act.at,), language, 2.0)
    if act.tool in ("Edit", "NotebookEdit", "MultiEdit"):
        text, language = _changed(act, path)
        return Step(f"Edit `{path}`", act.tool, text[:ACTION], why, criterion(act), (act.at,), language, 2.0)
    if act.tool == "Task":
        prompt = act.text("prompt") or act.text("content") or act.text("message")
        task = shorten(act.text("description"), 80)
        title = f"Hand to a subagent: {task or 'a part of the work'}"
        return Step(title, act.tool, prompt[:ACTION], why if why != task else "", criterion(act), (act.at,), "", 1.5)
    if act.tool in ("Read", "Search", "Web", "LS", "Glob", "Grep"):
        return None
    arguments = "\n".join(f"{key}: {value}" for key, value in act.given.items() if isinstance(value, str | int | float))
    return Step(f"Call `{act.tool}`", act.tool, arguments[:ACTION], why, criterion(act), (act.at,), "", 1.5)


def _command(act: Act, text: str) -> Step | None:
    if not text.strip():
        return None
    ran = [one for one in programs(text) if one.label]
    title = command_title(act, text) or fallback(text)
    weight = 0.6 if all(one.looks for one in ran) else 1.0
    weight += 0.5 * bool(re.search(r"\b(?:test|build|check|lint|validate|verify|deploy|release|publish|push)", text))
    return Step(title, act.tool, text[:ACTION], "", criterion(act), (act.at,), "bash", weight)


def _look(act: Act, homes: Sequence[str], request: str) -> Step | None:
    """A look as a step. What it looked at is named as far as the request did; the rest was found in this case only."""
    path, query, url = act.text("path"), act.text("query"), act.text("url")
    if path and path not in request:
        place, _, name = path.rpartition("/")
        if name and not any(place == home or place.startswith(f"{home.rstrip('/')}/") for home in homes):
            return None
        end = name.rpartition(".")[2] if "." in name else ""
        path = f"{place}/*.{end}" if end else path
    where = f" in `{path}`" if path else ""
    if query:
        asked = query if query in request else ""
        title = f"Search for `{shorten(asked, 120)}`{where}" if asked else f"Search for what the request names{where}"
    elif path or url:
        title = f"Read `{path or url}`"
    else:
        return None
    return Step(title, act.tool, "", purpose(act), criterion(act), (act.at,), "", 0.4)


def _changed(act: Act, path: str) -> tuple[str, str]:
    """What an edit put in, as code in the file's language."""
    new = act.text("new") or act.text("content") or act.text("patch")
    edits = act.given.get("edits")
    if not new and isinstance(edits, list):
        texts = [str(edit.get("new_string") or edit.get("new") or "") for edit in edits[:20] if isinstance(edit, dict)]
        new = "\n…\n".join(text for text in texts if text)
    if "*** Begin Patch" in new:
        lines = (line for line in new.split("\n") if line[:1] in "+@" and not line.startswith("+++"))
        new = "\n".join("…" if line.startswith("@") else line[1:] for line in lines).removeprefix("…\n")
    return (new or _added(act.output)).strip("\n"), language_of(path)


def _added(output: str) -> str:
    """The lines that a difference in a result shows as new, as it is where a client keeps nothing else."""
    found = [_ADDED.match(line) for line in output[:ACTION].split("\n")]
    return "\n".join(line[1] for line in found if line)


def _runs(path: str, ran: str) -> bool:
    """Was a file that was written run or handed to a program later? Then it is a tool and no result."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return bool(name) and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", ran) is not None


def amended(found: Sequence[Act]) -> list[Act]:
    """The calls with the text of each file as later edits left it; an edit of an edit is one."""
    kept: list[Act] = []
    files: dict[str, list[int]] = {}
    for act in found:
        old, new, path = act.text("old"), act.text("new"), act.text("path")
        places = files.setdefault(path, []) if act.tool in _TEXTS else []
        before = next((at for at in reversed(places) if _holds(kept[at], old)), None) if act.tool == "Edit" else None
        if before is None:
            places.append(len(kept))
            kept.append(act)
            continue
        key = _TEXTS[kept[before].tool]
        given = {**kept[before].given, key: kept[before].text(key).replace(old, new, 1)}
        kept[before] = kept[before]._replace(given=given)
        if key == "content":
            kept.append(act)
    return kept


def _holds(act: Act, text: str) -> bool:
    """Did a call put a text into its file?"""
    return bool(text.strip()) and text in act.text(_TEXTS[act.tool])


def tools_in(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """The tools that steps need, with the programs of the shell."""
    for step in steps:
        if step.tool == "Bash":
            yield from (("Bash", ran.label) for ran in programs(step.action) if ran.label)
        else:
            yield step.tool, ""
