"""The names that matter in Python: what sends, fetches, runs, decodes, copies and reads, by their real dotted names."""

from __future__ import annotations

import re

from whet.guard.expression import expression
from whet.guard.tables import api

COPIERS = api("python", "copiers")
NUMBERS = api("python", "numbers")
BUILTINS = api("python", "builtins")
MODULES = api("python", "modules")
DANGEROUS = expression(
    r"(?:exec|eval|compile|__import__|open)|(?:os|posix|nt)\.(?:system|popen\w*|exec\w+|spawn\w+|posix_spawnp?|environ|remove|unlink"
    r"|dup2)|subprocess(?:\.\w+)?|pty\.spawn|(?:socket|ctypes|marshal|pickle|requests|httpx|urllib|smtplib|ftplib|shutil|winreg"
    r"|_winreg|builtins|importlib|runpy|commands)(?:\.[\w.]+)?|os|posix|nt"
)
"""Names that honest code has no reason to put together from pieces."""
SECRET_FILTER = expression(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH", re.IGNORECASE)


def bare(name: str) -> str:
    """A dotted name without the marks of calls, with old and low-level spellings made one."""
    if "(" in name:
        name = name.replace("()", "")
    if name.startswith(("builtins.", "__builtins__.", "__builtin__.")):
        name = name.partition(".")[2]
    if name.startswith(("posix.", "nt.")):
        name = "os." + name.partition(".")[2]
    if name.startswith(("six.moves.", "pathlib.PosixPath")):
        name = name.removeprefix("six.moves.").replace("pathlib.PosixPath", "pathlib.Path")
    return name
