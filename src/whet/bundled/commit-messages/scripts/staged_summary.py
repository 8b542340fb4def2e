#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Summarise what is staged in a git repository and flag what should not be committed unseen.

Reads the index only; writes nothing, asks nothing, and gives the same answer for the same index. Values of likely
secrets are never printed, only the name they are assigned to and the place.

Flags: secret-file, secret-name, secret-shape, conflict, debug-line, large-binary, mixed-concerns.
Exit codes: 0 staged and no flag, 1 at least one flag, 2 wrong usage, 3 nothing staged, 4 git failed.
"""

from __future__ import annotations

import argparse
import io
import json
import os.path
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EXIT_CLEAN, EXIT_FLAGS, EXIT_USAGE, EXIT_NOTHING, EXIT_GIT = 0, 1, 2, 3, 4

MAX_SCAN_BYTES = 32 * 1024 * 1024
MAX_LINE_CHARACTERS = 2_000
MAX_AREAS = 3
"""Edited code in more sibling directories than this is reported as mixed."""

STATUS = {
    "A": "added",
    "C": "copied",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "retyped",
    "U": "unmerged",
}

TEST_DIRECTORIES = {"test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures"}
TEST_NAME = re.compile(r"^(?:test_.*|conftest)\.py$|[._-](?:test|spec)\.\w+$|_test\.\w+$|_spec\.rb$")
CI_PATH = re.compile(
    r"^\.(?:github/workflows|circleci|buildkite)/|^(?:\.gitlab-ci\.yml|Jenkinsfile|azure-pipelines\.yml)$"
)
DEPENDENCY_NAME = re.compile(
    r"^(?:package(?:-lock)?\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|pyproject\.toml|setup\.(?:py|cfg)"
    r"|requirements[\w.-]*\.txt|uv\.lock|poetry\.lock|Pipfile(?:\.lock)?|Cargo\.(?:toml|lock)|go\.(?:mod|sum)"
    r"|Gemfile(?:\.lock)?|composer\.(?:json|lock)|pom\.xml|build\.gradle(?:\.kts)?)$"
)
DOCS_NAME = re.compile(r"\.(?:md|mdx|rst|adoc|txt)$|^(?:LICENSE|NOTICE|AUTHORS|CHANGELOG|README)$")
CONFIG_NAME = re.compile(
    r"\.(?:json|ya?ml|toml|ini|cfg|conf|env|properties|tf|tfvars)$|^\.[\w.-]+$|^(?:Dockerfile|Makefile)"
)
CODE_NAME = re.compile(
    r"\.(?:py|pyi|jsx?|mjs|cjs|tsx?|vue|svelte|go|rs|rb|php|java|kt|kts|scala|swift|c|h|cc|cpp|hpp|m|cs|fs|ex|exs|erl|hs"
    r"|lua|pl|r|jl|dart|sh|bash|zsh|ps1|sql|css|scss|less|html)$"
)

SECRET_FILE = re.compile(
    r"^\.env(?:\.(?!example$|sample$|template$|dist$).+)?$|^id_(?:rsa|dsa|ecdsa|ed25519)$|^\.(?:netrc|pgpass|htpasswd)$"
    r"|\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate)$|^(?:credentials|service[_-]account.*)\.json$"
)
SENSITIVE = r"(?:password|passwd|passphrase|secret|token|credentials?|(?:api|access|private|secret|signing)[_-]?key)"
QUOTED_SECRET = re.compile(rf"(?i)([\w.-]{{0,60}}{SENSITIVE})[\"']?\]?\s*(?::=|[:=])\s*[\"']([^\"'\s]{{8,}})[\"']")
BARE_SECRET = re.compile(
    rf"(?i)^\s*(?:export\s+|ENV\s+|-\s+)?([\w./:-]{{0,80}}{SENSITIVE})\s*[:=]\s*([^\s\"'#]{{8,}})\s*$"
)
NOT_A_SECRET = re.compile(
    r"(?i)^(?:[$<{*&!/%]|your|some|test|fake|dummy|example|sample|change|replace|insert|xxx|none|null)"
    r"|example|placeholder|redacted"
)
SECRET_SHAPES = (
    ("private key block", re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----")),
    ("AWS access key id", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50})")),
    ("Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{20}")),
)

CONFLICT_LINE = re.compile(r"^(?:<{7}|\|{7}|>{7}) ")
SCRIPT_ENDINGS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue", ".svelte")
DEBUG_LINES = (
    ("breakpoint", (".py",), re.compile(r"\bbreakpoint\(\)|\bset_trace\(\)|^\s*import i?pdb\b")),
    ("debug print", (".py",), re.compile(r"\bprint\(f?[\"'](?:DEBUG|debug|XXX|here|>>>|\{\w+=\})")),
    ("debugger statement", SCRIPT_ENDINGS, re.compile(r"^\s*debugger\b")),
    ("console output", SCRIPT_ENDINGS, re.compile(r"\bconsole\.(?:log|debug|dir)\(")),
    ("focused test", SCRIPT_ENDINGS, re.compile(r"\b(?:describe|it|test)\.only\(|^\s*f(?:describe|it)\(")),
    ("dbg macro", (".rs",), re.compile(r"\bdbg!\(")),
    ("spew dump", (".go",), re.compile(r"\bspew\.Dump\(|\bruntime\.Breakpoint\(")),
    ("binding.pry", (".rb",), re.compile(r"\bbinding\.(?:pry|irb)\b|^\s*byebug\b")),
    ("var_dump", (".php",), re.compile(r"\b(?:var_dump|dd)\(")),
    ("shell trace", (".sh", ".bash", ".zsh"), re.compile(r"^\s*set -[a-z]*x")),
)

FLAG_ORDER = (
    "secret-file",
    "secret-name",
    "secret-shape",
    "conflict",
    "debug-line",
    "large-binary",
    "mixed-concerns",
)


class GitError(Exception):
    """Git is missing, or said no."""


class Staged(NamedTuple):
    """One staged file."""

    path: str
    renamed_from: str | None
    status: str
    kind: str
    insertions: int
    deletions: int
    bytes: int
    oid: str


class Flag(NamedTuple):
    """Something to look at before committing."""

    code: str
    path: str | None
    line: int | None
    detail: str


def git_command(repo: str, *arguments: str) -> list[str]:
    """A git call whose output does not depend on the user's configuration."""
    settings = ("core.quotePath=true", "diff.noprefix=false", "diff.mnemonicPrefix=false", "color.ui=false")
    return ["git", "-C", repo, *(part for setting in settings for part in ("-c", setting)), *arguments]


def git(repo: str, *arguments: str, stdin: bytes = b"") -> bytes:
    """Standard output of a git call."""
    try:
        done = subprocess.run(git_command(repo, *arguments), input=stdin, capture_output=True, check=False)  # noqa: S603 - a fixed program and a list of arguments, no shell
    except OSError as error:
        raise GitError(f"cannot run git: {error.strerror}") from error
    if done.returncode:
        talk = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines() or ["git failed without a message"]
        raise GitError(talk[0])
    return done.stdout


def staged_diff(*options: str) -> tuple[str, ...]:
    """Arguments of `git diff` for the index, with every setting that changes its shape pinned."""
    return ("diff", "--cached", "-M", "--no-relative", "--no-ext-diff", "--no-textconv", *options)


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def kind_of(path: str, mode: str, *, binary: bool) -> str:
    """What a file is for, from its path. The first rule that fits decides."""
    *directories, name = path.split("/")
    rules = (
        ("submodule", mode == "160000"),
        ("test", bool(TEST_DIRECTORIES.intersection(directories)) or bool(TEST_NAME.search(name))),
        ("binary", binary),
        ("ci", bool(CI_PATH.search(path))),
        ("dependencies", bool(DEPENDENCY_NAME.search(name))),
        ("migration", "migrations" in directories or "db/migrate/" in path),
        ("docs", bool(DOCS_NAME.search(name))),
        ("config", bool(CONFIG_NAME.search(name))),
        ("code", bool(CODE_NAME.search(name))),
    )
    return next((kind for kind, fits in rules if fits), "other")


def read_staged(repo: str) -> list[Staged]:
    """Every staged file, sorted by path."""
    fields = iter(git(repo, *staged_diff("--raw", "--numstat", "--no-abbrev", "-z")).split(b"\0")[:-1])
    raw: dict[str, tuple[str, str, str, str | None]] = {}
    counts: dict[str, tuple[str, str]] = {}
    for field in fields:
        if field.startswith(b":"):
            _, mode, _, oid, letter = text(field).split(" ")
            first = text(next(fields))
            moved = letter[0] in "RC"
            raw[text(next(fields)) if moved else first] = (mode, oid, letter[0], first if moved else None)
        else:
            insertions, deletions, path = text(field).split("\t", 2)
            if not path:
                next(fields)
                path = text(next(fields))
            counts[path] = (insertions, deletions)
    sizes = blob_sizes(repo, sorted({entry[1] for entry in raw.values() if entry[1].strip("0")}))
    found = []
    for path, (mode, oid, letter, old) in raw.items():
        insertions, deletions = counts.get(path, ("0", "0"))
        kind = kind_of(path, mode, binary=insertions == "-")
        added, removed = (int(count) if count != "-" else 0 for count in (insertions, deletions))
        found.append(Staged(path, old, STATUS[letter], kind, added, removed, sizes.get(oid, 0), oid))
    return sorted(found)


def blob_sizes(repo: str, oids: list[str]) -> dict[str, int]:
    """Sizes in bytes of the staged contents; a submodule has none."""
    answer = git(repo, "cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in oids).encode())
    rows = (line.split() for line in text(answer).splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) == 3}


def whitespace_only(repo: str, files: list[Staged]) -> set[str]:
    """Modified files that would not differ if white space were ignored."""
    answer = git(repo, *staged_diff("--numstat", "-z", "-w", "--ignore-blank-lines", "--diff-filter=M"))
    rows = (text(field).split("\t", 2) for field in answer.split(b"\0")[:-1])
    real = {path for insertions, deletions, path in rows if (insertions, deletions) != ("0", "0")}
    changed = {file.path for file in files if file.status == "modified" and file.insertions + file.deletions}
    return changed - real


def unquote(raw: bytes) -> str:
    """The path in a `+++ ` line: git adds a tab after names with blanks and quotes odd characters as C does."""
    name = raw.rstrip(b"\n").removesuffix(b"\t")
    if name.startswith(b'"'):
        letters = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
        name = re.sub(
            rb"\\([0-7]{3}|.)",
            lambda found: bytes([int(found[1], 8)]) if len(found[1]) == 3 else letters.get(found[1], found[1]),
            name[1:-1],
        )
    return text(name.removeprefix(b"b/"))


def added_lines(patch: Iterable[bytes]) -> Iterator[tuple[str, int, str]]:
    """Path, line number and text of each added line. Hunks are counted, so content that looks like a header is safe."""
    header = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
    path, number, old_left, new_left = "", 0, 0, 0
    for raw in patch:
        if old_left or new_left:
            if raw.startswith(b"+"):
                yield path, number, text(raw[1 : MAX_LINE_CHARACTERS + 1]).rstrip("\r\n")
                number, new_left = number + 1, new_left - 1
            elif raw.startswith(b"-"):
                old_left -= 1
        elif raw.startswith(b"+++ "):
            path = unquote(raw[4:])
        elif found := header.match(raw):
            old_left, number, new_left = int(found[1] or 1), int(found[2]), int(found[3] or 1)


def line_flags(path: str, kind: str, number: int, line: str) -> Iterator[Flag]:
    """What one added line gives away. Prose and tests mention debug calls and made-up passwords on purpose."""
    for name, shape in SECRET_SHAPES:
        if shape.search(line):
            yield Flag("secret-shape", path, number, name)
    if CONFLICT_LINE.match(line):
        yield Flag("conflict", path, number, "conflict marker")
    if kind != "docs":
        for name, endings, pattern in DEBUG_LINES:
            if path.endswith(endings) and pattern.search(line):
                yield Flag("debug-line", path, number, name)
    if kind not in {"docs", "test", "dependencies"}:
        secret = QUOTED_SECRET.search(line) or (BARE_SECRET.search(line) if kind == "config" else None)
        if secret and not NOT_A_SECRET.search(secret[2]) and secret[2].lower() not in secret[1].lower():
            yield Flag("secret-name", path, number, secret[1])


def scan_lines(repo: str, kinds: dict[str, str]) -> tuple[list[Flag], bool]:
    """Flags of all added lines, and whether the whole diff was read before the size limit."""
    command = git_command(repo, *staged_diff("--patch", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/"))
    seen = 0

    def bounded(stream: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal seen
        for line in stream:
            seen += len(line)
            if seen > MAX_SCAN_BYTES:
                return
            yield line

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - a fixed program and a list of arguments, no shell
        lines = added_lines(bounded(process.stdout or ()))
        flags = [flag for path, number, line in lines for flag in line_flags(path, kinds.get(path, ""), number, line)]
        complete = seen <= MAX_SCAN_BYTES
        if not complete:
            process.kill()
    if complete and process.returncode:
        raise GitError("git diff failed")
    return flags, complete


def file_flags(files: list[Staged], big_bytes: int) -> Iterator[Flag]:
    """What file names, sizes and states give away."""
    for file in files:
        if file.status == "unmerged":
            yield Flag("conflict", file.path, None, "unmerged path")
        if file.status != "deleted" and SECRET_FILE.search(os.path.basename(file.path)):
            yield Flag("secret-file", file.path, None, "file name that usually holds secrets")
        if file.kind == "binary" and file.bytes > big_bytes:
            yield Flag("large-binary", file.path, None, f"{file.bytes // 1024} KiB")


def concerns_of(files: list[Staged], whitespace: set[str]) -> dict[str, str]:
    """The concern each file belongs to: a move, white space, its kind, or for code the directory it sits in."""
    code = [os.path.dirname(file.path).split("/") for file in files if file.kind in {"code", "migration"}]
    levels = enumerate(zip(*code, strict=False))
    shared = next((depth for depth, names in levels if len(set(names)) > 1), min(map(len, code), default=0))
    concerns = {}
    for file in files:
        if file.status == "renamed" and not file.insertions + file.deletions:
            concern = "move"
        elif file.path in whitespace:
            concern = "whitespace"
        elif file.kind in {"code", "migration"}:
            concern = "code in " + ("/".join(os.path.dirname(file.path).split("/")[: shared + 1]) or ".")
        else:
            concern = file.kind
        concerns[file.path] = concern
    return concerns


def mixed_flags(files: list[Staged], concerns: dict[str, str]) -> Iterator[Flag]:
    """Signs that the index holds more than one commit. Areas made of new files only do not count as spread."""
    code = [file for file in files if concerns[file.path].startswith("code in ")]
    for concern, words in (("move", "pure moves"), ("whitespace", "whitespace-only changes"), ("ci", "CI changes")):
        if code and concern in concerns.values():
            yield Flag("mixed-concerns", None, None, f"{words} together with edited code")
    areas = sorted({concerns[file.path].removeprefix("code in ") for file in code if file.status != "added"})
    if len(areas) > MAX_AREAS:
        named = ", ".join(areas[:6]) + (", ..." if len(areas) > 6 else "")
        yield Flag("mixed-concerns", None, None, f"code in {len(areas)} areas: {named}")


def summarise(repo: str, big_kib: int, limit: int) -> dict[str, Any]:
    """The whole answer as plain values; lists are cut at `limit`, counts are complete."""
    repo = text(git(repo, "rev-parse", "--show-toplevel")).rstrip("\r\n")
    files = read_staged(repo)
    concerns = concerns_of(files, whitespace_only(repo, files))
    lines, complete = scan_lines(repo, {file.path: file.kind for file in files})
    flags = [*lines, *file_flags(files, big_kib * 1024), *mixed_flags(files, concerns)]
    flags.sort(key=lambda flag: (FLAG_ORDER.index(flag.code), flag.path or "", flag.line or 0, flag.detail))
    kinds: dict[str, dict[str, int]] = {}
    for file in sorted(files, key=lambda file: file.kind):
        total = kinds.setdefault(file.kind, {"files": 0, "insertions": 0, "deletions": 0})
        total["files"] += 1
        total["insertions"] += file.insertions
        total["deletions"] += file.deletions
    return {
        "staged": {
            "files": len(files),
            "insertions": sum(file.insertions for file in files),
            "deletions": sum(file.deletions for file in files),
        },
        "kinds": kinds,
        "files": [
            {
                "path": file.path,
                "renamed_from": file.renamed_from,
                "status": file.status,
                "kind": file.kind,
                "concern": concerns[file.path],
                "insertions": file.insertions,
                "deletions": file.deletions,
                "bytes": file.bytes,
            }
            for file in files[:limit]
        ],
        "flags": [flag._asdict() for flag in flags[:limit]],
        "omitted": {"files": max(0, len(files) - limit), "flags": max(0, len(flags) - limit)},
        "scan_complete": complete,
    }


def shown(path: str) -> str:
    """A path that cannot break the line it is printed on."""
    return path if path.isprintable() else repr(path)


def as_text(summary: dict[str, Any]) -> str:
    """The answer for a person, or for a model that pays by the token."""
    staged = summary["staged"]
    if not staged["files"]:
        return "nothing staged"
    plural = "" if staged["files"] == 1 else "s"
    lines = [f"staged: {staged['files']} file{plural}, +{staged['insertions']} -{staged['deletions']}"]
    for file in summary["files"]:
        origin = f" (from {shown(file['renamed_from'])})" if file["renamed_from"] else ""
        counts = f"+{file['insertions']} -{file['deletions']}"
        lines.append(f"  {file['kind']:<12} {file['status']:<8} {counts:>12}  {shown(file['path'])}{origin}")
    if summary["omitted"]["files"]:
        lines.append(f"  ... and {summary['omitted']['files']} more files")
    count = len(summary["flags"]) + summary["omitted"]["flags"]
    lines.append(f"flags: {count or 'none'}")
    for flag in summary["flags"]:
        place = f"{shown(flag['path'])}:{flag['line']}" if flag["line"] else shown(flag["path"] or "whole commit")
        lines.append(f"  {flag['code']:<14} {place}  {flag['detail']}")
    if summary["omitted"]["flags"]:
        lines.append(f"  ... and {summary['omitted']['flags']} more flags")
    if not summary["scan_complete"]:
        lines.append(f"note: only the first {MAX_SCAN_BYTES // 1024 // 1024} MiB of the diff were scanned for flags")
    return "\n".join(lines)


def positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError(value)
    return number


def main(arguments: list[str]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", default=".", metavar="DIR", help="a directory inside the repository (default: here)")
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")
    parser.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="list at most N files and N flags (100)"
    )
    parser.add_argument("--big-kib", type=positive, default=512, metavar="N", help="flag binaries above N KiB (512)")
    options = parser.parse_args(arguments)
    try:
        summary = summarise(options.repo, options.big_kib, options.limit)
    except GitError as error:
        if options.json:
            print(json.dumps({"error": str(error)}))
        print(f"staged_summary: {error}", file=sys.stderr)
        return EXIT_GIT
    print(json.dumps(summary, indent=2) if options.json else as_text(summary))
    if not summary["staged"]["files"]:
        return EXIT_NOTHING
    return EXIT_FLAGS if summary["flags"] else EXIT_CLEAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
