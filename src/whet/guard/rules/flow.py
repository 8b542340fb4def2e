"""Rules for what shows only in the whole package, and for the scan itself."""

from __future__ import annotations

from whet.guard.finding import Rule

RULES = (
    Rule(
        "hidden-payload",
        "critical",
        "hiding",
        "Encoded text turns out to be commands that fetch, send or execute",
        "Commands are encoded so that nobody reads them before they run.",
        "Write the commands in the open.",
        ("OWASP AST08", "CWE-506"),
    ),
    Rule(
        "split-exfiltration",
        "critical",
        "exfiltration",
        "One file of the package collects secrets, another sends",
        "A flow that is cut in two by a file border is the same flow.",
        "Keep secrets of others out of the package's reach.",
        ("OWASP AST01", "CWE-200"),
    ),
    Rule(
        "split-execution",
        "critical",
        "remote-execution",
        "One file of the package fetches, another executes what was fetched",
        "A download that another file runs is the same as one that runs at once.",
        "Ship the code in the package, where it can be reviewed.",
        ("OWASP AST02", "CWE-494"),
    ),
    Rule(
        "split-payload",
        "critical",
        "hiding",
        "A command or an address is put together from pieces in several files",
        "Pieces in data files look harmless one by one; only the whole says what it is.",
        "Write the command in one place.",
        ("OWASP AST08", "CWE-506"),
    ),
    Rule(
        "several-warnings",
        "critical",
        "instruction-override",
        "Several warnings of different kinds meet in this package",
        "Each of them has an honest explanation now and then; all of them together hardly ever have.",
        "Look at each of the warnings; remove what they show.",
        ("OWASP AST01",),
        mention=False,
    ),
    Rule(
        "scanner-error",
        "warn",
        "unreadable",
        "A check of the scanner failed on this file",
        "What could not be looked at cannot be called safe, whether the file or the scanner is at fault.",
        "Look at the file by hand, and report the failure.",
        ("OWASP AST08",),
        mention=False,
    ),
    Rule(
        "too-many-findings",
        "warn",
        "unreadable",
        "There is more in this file than is shown",
        "A flood of findings can hide the one that matters.",
        "Look at the file by hand.",
        ("OWASP AST08",),
        mention=False,
    ),
)
