"""`whet scan PATH...`: what is dangerous about skills, for people, programs, code hosts and pull requests."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._findings import SEVERITIES, VERDICTS, show_findings
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from whet.guard.baseline import Entry
    from whet.guard.report.results import Result
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

FORMATS = ("text", "json", "sarif", "markdown")
LIMITS = ("caution", "dangerous")
_ORDER = {"dangerous": 0, "caution": 1, "safe": 2}
_EVERY = 0.1
"""Seconds between two words about progress."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "A path may be a skill's directory, its SKILL.md, any other directory or file, or an archive, which is read "
        "without being unpacked. Nothing in a package can switch a finding off, and nothing of it is run. Exits with "
        "1 when a verdict is at or above --fail-on. On a pipe, each finding is a line that editors can jump to."
    )
    parser.positional("paths", "PATH|NAME", "Skills, by path or by name.", many=True)
    parser.option("--recursive", text="Scan every directory with a SKILL.md below the paths.")
    parser.option("--enclosing", text="Scan the skill that each path lies in; for the files of a commit.")
    parser.option(
        "--fail-on",
        metavar="V",
        choices=LIMITS,
        default="dangerous",
        text="Exit with 1 from this verdict on (default dangerous).",
    )
    parser.option("--format", metavar="F", choices=FORMATS, default="text", text="How to answer (default text).")
    parser.option("--output", metavar="FILE", text="Write the answer in that format to a file.")
    parser.option("--baseline", metavar="FILE", text="Leave out the findings that this file accepts.")
    parser.option("--write-baseline", metavar="FILE", text="Write a file that accepts what is found now.")
    parser.option("--reason", metavar="R", default="", text="Why, for the entries of --write-baseline.")
    parser.option("--all", text="Show what is only information, too.")


def run(context: Context, options: Namespace) -> Outcome:
    """Scan every package and write the files that are asked for."""
    from whet.guard.report.results import reaches, summary, worst

    hint = "`whet scan --help` explains it."
    if options.reason and not options.write_baseline:
        raise UsageError("usage", "--reason is for --write-baseline only.", hint=hint)
    if options.recursive and options.enclosing:
        raise UsageError("usage", "Give --recursive or --enclosing, not both.", hint=hint)
    paths = options.paths if options.enclosing else [context.locate(path) for path in options.paths]
    known = _known(options.baseline)
    progress = _progress(options)
    results = context.library.scan_results(
        paths, recursive=options.recursive, around=options.enclosing, known=known, progress=progress
    )
    if progress is not None:
        progress(0)
    answer: dict[str, Any] = {"success": True, "results": [result.to_json() for result in results]}
    answer["summary"] = summary(results)
    if options.baseline:
        answer["baseline"] = _told(options.baseline, known, results)
    if options.write_baseline:
        answer["baseline_written"] = _write_baseline(options.write_baseline, results, options.reason)
    if options.format in ("sarif", "markdown"):
        options.document = _document(options.format, results)
    if options.output:
        answer["output"] = options.output
        _write(options.output, _text(answer, options))
    return Outcome(answer, 1 if reaches(worst(results), options.fail_on) else 0)


def _known(path: str | None) -> tuple[Entry, ...]:
    if path is None:
        return ()
    from whet.guard.baseline import read_baseline
    from whet.library.checking import content

    full = os.path.expanduser(path)
    return read_baseline(content(full, 16 * 1024 * 1024).decode("utf-8", "replace"), path)


def _told(path: str, known: Sequence[Entry], results: Sequence[Result]) -> dict[str, Any]:
    """What became of the entries of a baseline."""
    from whet.guard.baseline import expired
    from whet.store.clock import iso, system_clock

    used = {(result.skill, entry.fingerprint) for result in results for _, entry in result.accepted}
    today = iso(system_clock())[:10]
    over = [entry for entry in known if expired(entry, today)]
    idle = [entry for entry in known if entry not in over and (entry.skill, entry.fingerprint) not in used]
    real = os.path.realpath(os.path.expanduser(path))
    shipped = [result.path for result in results if real.startswith(os.path.join(os.path.realpath(result.path), ""))]
    return {
        "file": path,
        "applied": len(used),
        "unused": [entry.to_json() for entry in idle],
        "expired": [entry.to_json() for entry in over],
        "inside": shipped,
    }


def _write_baseline(path: str, results: Sequence[Result], reason: str) -> dict[str, Any]:
    from whet.guard.baseline import write_baseline

    found = [(result.skill, (*result.findings, *(one for one, _ in result.accepted))) for result in results]
    text = write_baseline(found, reason)
    _write(path, text)
    return {"file": path, "entries": text.count('"fingerprint"')}


def _document(name: str, results: Sequence[Result]) -> str:
    """The answer in a format that is not the answer itself."""
    base = os.getcwd()
    if name == "markdown":
        from whet.guard.report.markdown import markdown

        return markdown(results, base=base)
    import json

    from whet import __version__
    from whet.guard import rules
    from whet.guard.report.sarif import sarif
    from whet.interfaces.cli.text import clean_json

    document = sarif(results, rules.every(), base=base, version=__version__)
    return clean_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _text(answer: dict[str, Any], options: Namespace) -> str:
    """The answer as a file holds it."""
    if options.format in ("sarif", "markdown"):
        return str(options.document)
    if options.format == "json":
        import json

        from whet.interfaces.cli.text import clean_json

        return clean_json(json.dumps(answer, indent=2, ensure_ascii=False)) + "\n"
    from whet.interfaces.cli.output import Screen

    screen = Screen(tty=False, colour=False, columns=80)
    _show(answer, screen, options)
    return screen.text()


def _write(path: str, text: str) -> None:
    from whet.store.atomic import write_text

    write_text(os.path.abspath(os.path.expanduser(path)), text)


def _progress(options: Namespace) -> Callable[[int], None] | None:
    """Tells how far it is, on a terminal; told 0, it takes its words back."""
    if options.quiet or options.json or not options.recursive or sys.stderr is None or not sys.stderr.isatty():
        return None
    import time

    last = [time.monotonic()]

    def tell(done: int) -> None:
        now = time.monotonic()
        if done == 0:
            sys.stderr.write("\r\x1b[K")
        elif now - last[0] >= _EVERY:
            last[0] = now
            sys.stderr.write(f"\rScanned {plural(done, 'package')}")
        sys.stderr.flush()

    return tell


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The answer in its format; with --output only the sentences about it."""
    if not options.output:
        if options.format == "text":
            _show(answer, screen, options)
        else:
            screen.line(_text(answer, options).removesuffix("\n"))
    else:
        screen.said.append(f"Written to {clean(options.output)}.")
    _say(answer, screen, options)


def _show(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    results = sorted(answer["results"], key=lambda result: (_ORDER[result["verdict"]], result["path"]))
    if screen.tty and len(results) > 1:
        rows = [
            (result["verdict"], *(_count(result, severity) for severity in SEVERITIES), screen.place(result["path"]))
            for result in results
        ]
        screen.table(("VERDICT", "CRITICAL", "WARN", "INFO", "PATH"), rows)
        results = [result for result in results if result["verdict"] != "safe" or options.all]
        if results:
            screen.line()
    for number, result in enumerate(results):
        if number and screen.tty:
            screen.line()
        verdict = screen.paint(result["verdict"], VERDICTS[result["verdict"]])
        heading = f"{screen.place(result['path'])}: {verdict}"
        if screen.tty:
            screen.line(heading)
        show_findings(result["findings"], result["path"], screen, every=options.all)
        if not screen.tty:
            screen.line(heading)


def _count(result: dict[str, Any], severity: str) -> str:
    return str(sum(finding["severity"] == severity for finding in result["findings"]) or "")


def _say(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    summary = answer["summary"]
    verdicts, findings = summary["verdicts"], summary["findings"]
    counts = ", ".join(f"{verdicts[label]} {label}" for label in ("dangerous", "caution", "safe") if verdicts[label])
    accepted = f", {summary['accepted']} accepted" if summary["accepted"] else ""
    screen.said.append(f"{plural(summary['packages'], 'package')}: {counts or 'nothing'}{accepted}.")
    if baseline := answer.get("baseline"):
        for label, sentence in (("unused", "is not found any more"), ("expired", "is over")):
            for entry in baseline[label]:
                screen.said.append(f"Baseline: {entry['rule']} in {entry['skill']}/{entry['file']} {sentence}.")
        for path in baseline["inside"]:
            screen.said.append(f"The baseline lies in the package {path}: whoever wrote the skill may have written it.")
    if written := answer.get("baseline_written"):
        screen.said.append(f"{clean(written['file'])} accepts {plural(written['entries'], 'finding')}.")
    if findings["info"] and not options.all and options.format == "text":
        screen.hints.append(f"{findings['info']} for information only; --all shows them.")
