"""What a skill distilled without a model keeps of a session, and whether it is found for the next one.

    python benchmarks/distill.py --trajectories FILE.jsonl[.gz] [--among FILE] [--json] [--limit N] [--misses]

Reads sessions, one JSON object per line: `task`, `instance`, `instruction`, `sessions` (messages with tool calls),
`skill_key_points` (`key_point`, `skill_reference`). Each becomes a skill as `whet distill --yes` makes it. Measured:

- the share of key points that the skill holds (see `distill_points`), beside a naive baseline (the instruction and the
  commands that were run), a copy of everything that taught (skill texts, cut), and the same session without the skill
  texts, all in at most 5,000 tokens;
- whether the skill of one instance, in a library with one skill for each task (and those of `--among`), is the first
  hit for the instructions of the other instances of its task;
- whether secrets planted in messages, commands and outputs come out;
- whether the skill, without the note that marks a draft, passes the profiles `spec` and `quality`.

With `--writer FILE` (skills that machines wrote for these tasks: `task`, `name`, `description`, `body`), it also lets a
scripted model write each skill. The model answers with one of the skills for the task, good or bad as it is; what Whet
refuses it leaves out in the next try. Counted for these skills and for the outlines: whether all code parses, whether
name and description hold values of the case, whether placeholders are left, and whether the name names the task.

    python benchmarks/distill.py --requests FILE --skills FILE

does the same with sessions rebuilt from requests that people wrote for skills (`text`, `relevant`): what the agent ran
are the commands of the skill that is for the request (`id`, `name`, `description`, `body`). The scripted model answers
with that skill, and every third time with one for another task. With `--names` it only names the request of every
session that could begin with one. `data/distill-names.json` says for each name that a reader has read whether it names
the task of its request.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import time
from collections import defaultdict
from functools import partial
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from distill_points import THRESHOLDS, read_point, shares

from whet.guard.syntax import blocks_of, parses
from whet.learning.distill.draft import Draft, draft, main_file
from whet.learning.distill.names import name_problem, values_in
from whet.learning.distill.outline import NOTE
from whet.learning.distill.writer import write
from whet.learning.evidence.session import evidence_of
from whet.learning.models.scripted import Scripted
from whet.learning.transcripts.reader import from_messages
from whet.prompt.tokens import estimate
from whet.routing.router import Entry, Router
from whet.routing.texts import Texts
from whet.skill.validate import ValidationInput, validate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.evidence.session import Evidence
    from whet.learning.models.model import Request
    from whet.learning.transcripts.events import Transcript

TOKENS = 5_000
GOAL = 1.5
SECRETS = (
    "ghp_" + "q7Zk2LmP9sXw4RtB8vNc" + "1HdYf6JgT3uEaKo5",
    "sk-ant-api03-" + "Vx81kQpLw07zRtYb" + "Nc52HdMf6JgT3uEa",
    "AKIA" + "Q3ZKLMPXWRTBVN7C",
    "hunter2-Correct-Horse-91",
)
_FEW, _MANY = 6, 90
"""Words between which a request is one."""
_NAMES_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "distill-names.json")
_NAMES = ("GITHUB_TOKEN", "ANTHROPIC_API_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD")
_PLANTED = "export " + " ".join(f"{name}='{secret}'" for name, secret in zip(_NAMES, SECRETS, strict=True))


class Session(NamedTuple):
    """One session of the data with what a skill made from it should hold."""

    task: str
    instance: str
    instruction: str
    record: dict[str, Any]
    points: tuple[tuple[str, str], ...]


def read_sessions(path: str, limit: int = 0) -> list[Session]:
    """The sessions of a file."""
    return [
        Session(
            row["task"],
            row["instance"],
            row["instruction"],
            row,
            tuple((one.get("key_point") or "", one.get("skill_reference") or "") for one in row["skill_key_points"]),
        )
        for row in _rows(path)[: limit or None]
    ]


def cut(text: str, tokens: int) -> str:
    """A text cut at a line so that it costs at most so many tokens."""
    if estimate(text) <= tokens:
        return text
    lines = text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate("\n".join(lines[:middle])) <= tokens else (low, middle - 1)
    return "\n".join(lines[:low]).rstrip()


def transcript_of(record: dict[str, Any]) -> Transcript:
    """The session as every importer gives it."""
    return from_messages(messages_of(record), client="benchmark")


def messages_of(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The sessions of a record as messages of an API; its uses of tools carry their output."""
    yield {"role": "user", "content": record.get("instruction") or ""}
    number = 0
    for message in [message for session in record.get("sessions", [record]) for message in session["messages"]]:
        time = {"timestamp": message.get("timestamp")}
        yield {"role": "assistant", "content": [{"type": "thinking", "thinking": message.get("thinking")}], **time}
        yield {"role": message.get("role"), "content": message.get("content"), **time}
        for use in message.get("tool_uses") or ():
            number += 1
            id_ = use.get("id") or f"use-{number}"
            call = {"type": "tool_use", "id": id_, "name": use.get("tool"), "input": use.get("input")}
            yield {"role": "assistant", "content": [call], **time}
            if use.get("output") is not None or use.get("status"):
                failed = use.get("status") in {"error", "failed", "failure"}
                result = {"type": "tool_result", "tool_use_id": id_, "content": use.get("output"), "is_error": failed}
                yield {"role": "user", "content": [result], **time}


def baseline(transcript: Transcript) -> str:
    """The instruction and the list of commands, cut."""
    said = [event.text for event in transcript.events if event.kind == "user"][:1]
    ran = [
        str(event.given.get("command")) for event in transcript.events if event.kind == "call" and event.tool == "Bash"
    ]
    return cut("\n".join((*said, *ran)), TOKENS)


def copied(transcript: Transcript) -> str:
    """Everything that taught, as it was read, cut."""
    return cut("\n".join(event.text for event in transcript.events if event.about.startswith("skill:")), TOKENS)


def without_skills(transcript: Transcript) -> Transcript:
    """The session as if it had worked without any skill."""
    return transcript._replace(
        events=tuple(event for event in transcript.events if not event.about.startswith("skill:"))
    )


def planted(record: dict[str, Any]) -> dict[str, Any]:
    """The record with secrets in its instruction, its commands, what was written and what came back."""
    copy: dict[str, Any] = json.loads(json.dumps(record))
    copy["instruction"] += f"\n\nUse these: {_PLANTED}\n"
    for session in copy["sessions"]:
        for message in session["messages"]:
            if message.get("content"):
                message["content"] += f"\n{_PLANTED}\n"
            for use in message.get("tool_uses") or ():
                for key in ("command", "content", "new_string", "prompt"):
                    if isinstance(use["input"].get(key), str):
                        use["input"][key] = f"{_PLANTED}\n{use['input'][key]}"
                if isinstance(use.get("output"), dict) and "text" in use["output"]:
                    use["output"]["text"] += f"\n{_PLANTED}"
    return copy


def leaks(made: Draft) -> int:
    """How many of the planted secrets are in a skill, or in what lies beside it."""
    text = "\n".join((main_file(made), *made.files.values()))
    return sum(secret in text for secret in SECRETS)


def found_first(
    sessions: Sequence[Session], made: Sequence[Draft], among: Sequence[Texts] = ()
) -> dict[str, list[tuple[int, int]]]:
    """For each task: how many of the other instances' instructions find the skill of each instance first.

    `among` are further skills of the library.
    """
    tasks: dict[str, list[int]] = defaultdict(list)
    for at, session in enumerate(sessions):
        tasks[session.task].append(at)
    result: dict[str, list[tuple[int, int]]] = defaultdict(list)
    router = Router(":memory:")
    others = [Entry(f"other-{at}", "1", partial(_same, texts)) for at, texts in enumerate(among)]
    for number in range(max(map(len, tasks.values()))):
        library = {task: instances[number % len(instances)] for task, instances in tasks.items()}
        router.update([*others, *(Entry(str(one), "1", partial(_texts, made[one])) for one in library.values())])
        for task, at in library.items():
            if number < len(tasks[task]):
                asked = [sessions[one].instruction for one in tasks[task] if one != at]
                hits = [router.find(message, 1) for message in asked]
                result[task].append((sum(bool(hit) and hit[0].key == str(at) for hit in hits), len(asked)))
    router.close()
    return dict(result)


def read_others(path: str) -> list[Texts]:
    """The skills of a file, one JSON object per line: `name`, `description`, `body`."""
    return [Texts(row["name"], row["description"] or "", row["body"] or "") for row in _rows(path)]


def _rows(path: str) -> list[dict[str, Any]]:
    with open(path, "rb") as file:
        data = file.read()
    lines = (gzip.decompress(data) if path.endswith(".gz") else data).decode().split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def _same(texts: Texts) -> Texts:
    return texts


def _texts(made: Draft) -> Texts:
    return Texts(made.name, made.description, made.body)


def measure(sessions: Sequence[Session], *, misses: bool = False, among: Sequence[Texts] = ()) -> dict[str, Any]:
    """Everything about the sessions, by task and over all tasks."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    made: list[Draft] = []
    missed: list[dict[str, Any]] = []
    started = time.process_time()
    for session in sessions:
        transcript = transcript_of(session.record)
        made.append(draft(evidence_of(transcript)))
    seconds = time.process_time() - started
    for session, skill in zip(sessions, made, strict=True):
        transcript = transcript_of(session.record)
        text = main_file(skill)
        bare = main_file(draft(evidence_of(without_skills(transcript))))
        points = [read_point(*point) for point in session.points]
        texts = {
            "whet": text,
            "baseline": baseline(transcript),
            "copy": copied(transcript),
            "whet without skills": bare,
        }
        held = {name: shares(points, one) for name, one in texts.items()}
        edited = text.replace(NOTE, "")
        findings = validate(ValidationInput(skill.name, edited, files=("SKILL.md", *skill.files)), "quality")
        rows[session.task].append(
            {
                "instance": session.instance,
                "name": skill.name,
                "points": len(points),
                "tokens": {name: estimate(one) for name, one in texts.items()},
                "covered": {
                    name: {level: _share(one, least) for level, least in THRESHOLDS.items()}
                    for name, one in held.items()
                },
                "leaks": leaks(draft(evidence_of(transcript_of(planted(session.record))))),
                "findings": sorted({one.code for one in findings if one.severity != "info"}),
                "errors": sum(one.severity == "error" for one in findings if one.code != "unknown-key"),
            }
        )
        if misses:
            least = THRESHOLDS["covered"]
            missed += [
                {"instance": session.instance, "way": way, "key_point": point[0], "held": round(share, 2)}
                for way in ("whet", "whet without skills")
                for point, share in zip(session.points, held[way], strict=True)
                if share < least
            ]
    first = found_first(sessions, made, among)
    by_task = {task: _summed(some, first[task]) for task, some in rows.items()}
    return {
        "sessions": len(sessions),
        "seconds": round(seconds, 2),
        "library": len(by_task) + len(among),
        "tasks": by_task,
        "all": _overall(by_task),
        "instances": [row for some in rows.values() for row in some],
        **({"misses": missed} if misses else {}),
    }


_HEADING = re.compile(r"^#{2,4} +(.+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"(?<![$\w{])\{\w[\w ]{0,30}\}(?![\w}])|(?<![-<\w])<[a-z][\w -]{1,30}>")


def answer_of(row: dict[str, Any]) -> dict[str, Any]:
    """A skill that a machine wrote, as a model answers: a step for each section."""
    steps = []
    pieces = _HEADING.split(row["body"] or "")
    for title, text in zip(pieces[1::2], pieces[2::2], strict=True):
        block = next(blocks_of(text), None)
        prose = text[: max(0, text.find("```"))] if block else text
        code = {"code": block.text, "language": block.language or "text"} if block else {}
        steps.append({"title": title.strip(" *#")[:110], "text": prose.strip()[:1_500], **code})
    title = (row["description"] or row["name"]).partition(". ")[0][:110]
    return {"name": row["name"], "title": title, "description": (row["description"] or "")[:1_000], "steps": steps[:30]}


def scripted(row: dict[str, Any]) -> Scripted:
    """A model that answers with a skill; in the next try without the parts that were refused."""
    answer = answer_of(row)

    def reply(request: Request) -> str:
        refused = {int(found) for found in re.findall(r"^Step (\d+) ", request.messages[-1].text, re.MULTILINE)}
        answer["steps"] = [step for number, step in enumerate(answer["steps"], 1) if number not in refused]
        return json.dumps(answer)

    return Scripted(reply)


def broken(made: Draft, evidence: Evidence) -> dict[str, bool]:
    """What is wrong with a skill that a reader would not accept."""
    texts = (made.body, *made.files.values())
    prose = "\n".join((made.name.replace("-", " "), made.description, made.goal))
    said = "\n".join((*(step.action for step in evidence.steps), *(file.content for file in evidence.files)))
    code = "\n".join(block.text for text in texts for block in blocks_of(text) if block.language == "bash")
    return {
        "code does not parse": any(
            not parses(block.language, block.text) for text in texts for block in blocks_of(text)
        ),
        "values of the case": bool(values_in(prose, evidence)),
        "placeholders": any(found not in said for found in _PLACEHOLDER.findall(code)),
        "name does not name the task": bool(name_problem(made.name, evidence)),
    }


def begins(row: dict[str, Any]) -> bool:
    """Could a session have begun with this request? It asks no question and names no skill."""
    text = row["text"]
    asks = not row.get("explicit") and "skill" not in text.lower() and "?" not in text
    return asks and _FEW < len(text.split()) < _MANY


def rebuild(requests: Sequence[dict[str, Any]], skills: Sequence[dict[str, Any]]) -> list[Session]:
    """Up to three sessions for each skill that has commands and requests: what was asked, and the commands that ran."""
    known = {row["id"]: row for row in skills}
    asked: dict[str, list[str]] = defaultdict(list)
    for row in requests:
        if row["kind"] == "user" and len(row["relevant"]) == 1 and begins(row):
            asked[row["relevant"][0]].append(row["text"])
    sessions = []
    for skill in sorted(asked.keys() & known.keys()):
        blocks = [block.text.strip() for block in blocks_of(known[skill]["body"] or "") if block.language == "bash"]
        if len(blocks) > 1:
            calls = [{"tool": "Bash", "input": {"command": one}, "output": {"text": "ok"}} for one in blocks[:6]]
            messages = [{"role": "assistant", "tool_uses": [call]} for call in calls]
            messages.append({"role": "assistant", "content": "Done."})
            for number, text in enumerate(dict.fromkeys((asked[skill][0], asked[skill][-1], *asked[skill][1:2])), 1):
                record = {"instruction": text, "sessions": [{"session_id": str(number), "messages": messages}]}
                sessions.append(Session(skill, f"{skill}#{number}", text, record, ()))
    return sessions


def answers_for(sessions: Sequence[Session], skills: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What a model answers for each rebuilt session: the skill itself, and every third time that of another."""
    known = {row["id"]: row for row in skills}
    turned = [*sessions[1:], *sessions[:1]]
    others = (
        other if number % 3 == 2 else one for number, (one, other) in enumerate(zip(sessions, turned, strict=True))
    )
    return {one.instance: [known[other.task]] for one, other in zip(sessions, others, strict=True)}


def name_requests(requests: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The name of a session that begins with each request; a user's, or one that a skill is not for."""
    ran = {"role": "assistant", "tool_uses": [{"tool": "Bash", "input": {"command": "true"}, "output": {"text": "ok"}}]}
    sessions = [{"session_id": "1", "messages": [ran, {"role": "assistant", "content": "Done."}]}]
    texts = dict.fromkeys(row["text"] for row in requests if row["kind"] in ("user", "negative") and begins(row))
    records = ({"instruction": text, "sessions": sessions} for text in texts)
    return {record["instruction"]: draft(evidence_of(transcript_of(record))).name for record in records}


def judge_names(names: Sequence[str], path: str = _NAMES_FILE) -> dict[str, Any]:
    """How many of these names each reader has read and found to name the task; how far any two of them agree."""
    with open(path, encoding="utf-8") as file:
        readers = json.load(file)
    told: dict[str, Any] = {
        reader: {"read": sum(name in said for name in names), "good": sum(said.get(name, False) for name in names)}
        for reader, said in readers.items()
    }
    for (first, one), (second, other) in combinations(readers.items(), 2):
        if both := sorted(one.keys() & other.keys()):
            same = mean(one[name] == other[name] for name in both)
            good = [mean(said[name] for name in both) for said in (one, other)]
            chance = good[0] * good[1] + (1 - good[0]) * (1 - good[1])
            kappa = round((same - chance) / (1 - chance), 2) if chance < 1 else None
            told[f"{first} and {second}"] = {"names": len(both), "share": round(same, 3), "kappa": kappa}
    return told


def compare_writers(sessions: Sequence[Session], rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The outlines and what a scripted model wrote, side by side: of how many skills something is wrong."""
    sides: dict[str, list[dict[str, bool]]] = {"outline": [], "as the model wrote it": [], "written and checked": []}
    refused = outlined = 0
    names: dict[str, str] = {}
    for number, session in enumerate(sessions):
        evidence = evidence_of(transcript_of(session.record))
        found = rows.get(session.instance) or rows[session.task]
        row = found[number * 7 % len(found)]
        written, helped = write(evidence, scripted(row))
        raw = draft(evidence)._replace(name=row["name"], description=row["description"] or "", body=row["body"] or "")
        names[session.instance] = draft(evidence).name
        sides["outline"].append(broken(draft(evidence), evidence))
        sides["as the model wrote it"].append(broken(raw._replace(files={}), evidence))
        sides["written and checked"].append(broken(draft(evidence, None, written), evidence))
        refused += len(helped.refused)
        outlined += written is None
    told = {side: {what: sum(one[what] for one in found) for what in found[0]} for side, found in sides.items()}
    return {
        "sessions": len(sessions),
        "tasks": len({session.task for session in sessions}),
        "sides": told,
        "refused at the end": refused,
        "outline instead": outlined,
        "readers": judge_names([*names.values()]),
        "names": names,
    }


def _share(held: Sequence[float], least: float) -> float:
    return sum(one >= least for one in held) / max(1, len(held))


def _summed(rows: Sequence[dict[str, Any]], first: Sequence[tuple[int, int]]) -> dict[str, Any]:
    names = rows[0]["covered"]
    asked = sum(count for _, count in first)
    return {
        "sessions": len(rows),
        "covered": {
            name: {level: round(mean(row["covered"][name][level] for row in rows), 3) for level in THRESHOLDS}
            for name in names
        },
        "tokens": {name: round(mean(row["tokens"][name] for row in rows)) for name in names},
        "most_tokens": max(row["tokens"]["whet"] for row in rows),
        "found_first": round(sum(hits for hits, _ in first) / asked, 3) if asked else None,
        "leaks": sum(row["leaks"] for row in rows),
        "warnings": sum(bool(row["findings"]) for row in rows),
        "errors": sum(row["errors"] for row in rows),
    }


def _overall(tasks: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Means over tasks, so that a task with many instances does not count more."""
    some = list(tasks.values())
    names = some[0]["covered"]
    covered = {
        name: {level: round(mean(task["covered"][name][level] for task in some), 3) for level in THRESHOLDS}
        for name in names
    }
    asked = [task["found_first"] for task in some if task["found_first"] is not None]
    naive = max(covered["baseline"]["covered"], 0.001)
    ratio = covered["whet"]["covered"] / naive
    most = max(task["most_tokens"] for task in some)
    return {
        "covered": covered,
        "tokens": {name: round(mean(task["tokens"][name] for task in some)) for name in names},
        "most_tokens": most,
        "found_first": round(mean(asked), 3) if asked else None,
        "leaks": sum(task["leaks"] for task in some),
        "warnings": sum(task["warnings"] for task in some),
        "errors": sum(task["errors"] for task in some),
        "ratio": round(ratio, 2),
        "ratio_without_skills": round(covered["whet without skills"]["covered"] / naive, 2),
        "goal": {"ratio": GOAL, "tokens": TOKENS, "met": ratio >= GOAL and most <= TOKENS},
    }


def _printed(result: dict[str, Any]) -> None:
    print(
        f"{result['sessions']} sessions distilled in {result['seconds']} s. "
        "Share of key points held (loose / measure / strict).\n"
    )
    print(
        "| task | whet | baseline | copy of the skills read | whet, no skills read "
        "| tokens | first hit | secrets | warnings |"
    )
    print("| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name, row in (*result["tasks"].items(), ("mean", result["all"])):
        levels = (" / ".join(f"{row['covered'][way][level]:.2f}" for level in THRESHOLDS) for way in row["covered"])
        hit = "-" if row["found_first"] is None else f"{row['found_first']:.0%}"
        tokens = f"{row['tokens']['whet']:,}"
        print(f"| {name} | {' | '.join(levels)} | {tokens} | {hit} | {row['leaks']} | {row['warnings']} |")
    overall = result["all"]
    goal = overall["goal"]
    print(
        f"\n{overall['ratio']:g} x the baseline, {overall['ratio_without_skills']:g} x without skills, "
        f"at most {overall['most_tokens']:,} tokens. "
        f"Goal, {goal['ratio']:g} x at {goal['tokens']:,} tokens: {'met' if goal['met'] else 'missed'}."
    )
    for miss in result.get("misses", ()):
        print(f"- {miss['instance']}, {miss['way']}: {miss['held']:.2f} {miss['key_point'][:200]}")


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--trajectories", metavar="FILE", help="sessions as JSON lines, plain or gzipped")
    source.add_argument("--requests", metavar="FILE", help="requests to rebuild sessions from, as JSON lines")
    parser.add_argument("--skills", metavar="FILE", help="the skills that the requests are for, as JSON lines")
    parser.add_argument("--names", action="store_true", help="only name the requests")
    parser.add_argument("--among", metavar="FILE", help="further skills of the library, as JSON lines")
    parser.add_argument("--writer", metavar="FILE", help="skills that a scripted model answers with, as JSON lines")
    parser.add_argument("--limit", type=int, default=0, help="read only so many sessions")
    parser.add_argument("--misses", action="store_true", help="list the key points that are not held")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    if options.requests and options.names:
        named = name_requests(_rows(options.requests))
        told = {"requests": len(named), "readers": judge_names([*named.values()]), "names": named}
        print(json.dumps(told, indent=1, ensure_ascii=False))
        return 0
    if options.requests:
        skills = _rows(options.skills)
        rebuilt = rebuild(_rows(options.requests), skills)
        print(json.dumps(compare_writers(rebuilt, answers_for(rebuilt, skills)), indent=1))
        return 0
    if options.writer:
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in _rows(options.writer):
            rows[row["task"]].append(row)
        compared = compare_writers(read_sessions(options.trajectories, options.limit), rows)
        print(json.dumps(compared, indent=1))
        return 0
    result = measure(
        read_sessions(options.trajectories, options.limit),
        misses=options.misses,
        among=read_others(options.among) if options.among else (),
    )
    if options.json:
        print(json.dumps(result, indent=1, ensure_ascii=False))
    else:
        _printed(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
