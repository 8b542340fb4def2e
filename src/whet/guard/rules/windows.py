"""Rules for PowerShell and cmd. What is the same danger in any shell has its rule in the shell pack."""

from __future__ import annotations

from whet.guard.finding import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "encoded-command",
        "warn",
        "hiding",
        "PowerShell is given an encoded command",
        "Encoding keeps a person from reading what runs.",
        "Write the command out, or call a script of the package.",
        ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "hidden-window",
        "warn",
        "hiding",
        "PowerShell runs hidden and without its execution policy",
        "A window that nobody sees and a policy that is skipped belong to malware more often than to tools.",
        "Run in the open.",
        ("OWASP AST01",),
    ),
    Rule(
        "system-tool-download",
        "warn",
        "remote-execution",
        "A system tool is misused to download or decode",
        "`certutil`, `bitsadmin` and the like slip through where a browser would be stopped.",
        "Use Invoke-WebRequest from the vendor's own domain.",
        ("OWASP AST01", "CWE-494"),
    ),
    Rule(
        "system-tool-script",
        "critical",
        "remote-execution",
        "A system tool is misused to run a script from elsewhere",
        "`mshta`, `regsvr32` and `rundll32` run code this way that no policy looks at.",
        "Remove it.",
        ("OWASP AST01", "CWE-506"),
    ),
    Rule(
        "defender-off",
        "critical",
        "privilege",
        "Windows Defender is told to look away",
        "Exclusions and switched-off monitoring prepare the ground for malware.",
        "Remove it. A false alarm is reported to the vendor of the scanner.",
        ("OWASP AST01", "CWE-693"),
    ),
    Rule(
        "scan-bypass",
        "critical",
        "hiding",
        "The script scanning of Windows is bypassed",
        "Only code that would be stopped has a reason to do so.",
        "Remove it.",
        ("OWASP AST01", "CWE-693"),
    ),
    Rule(
        "windows-autostart",
        "warn",
        "persistence",
        "A program is entered to start with Windows",
        "It runs after the task is over.",
        "Let the person add it, and say how to remove it.",
        ("OWASP AST01",),
    ),
    Rule(
        "delete-shadows",
        "critical",
        "destruction",
        "Shadow copies or backups of Windows are deleted",
        "That is what ransomware does first.",
        "Remove it.",
        ("OWASP AST01",),
    ),
    Rule(
        "windows-credentials",
        "critical",
        "credential-access",
        "Stored Windows credentials are dumped",
        "They open every account of the machine.",
        "Remove it.",
        ("OWASP AST01", "CWE-522"),
    ),
)
