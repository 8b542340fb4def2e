"""The names that matter in Python: what sends, fetches, runs, decodes, copies and reads, by their real dotted names."""

from __future__ import annotations

import re

from whet.guard.expression import expression
from whet.guard.python.values import words
from whet.guard.tables import api, load_sets

HTTP = api("python", "http")
HTTP_VERBS = api("python", "http_verbs")
SENDERS: dict[str, str] = {name: way for way, names in load_sets("python_api")["senders"].items() for name in names}
UPLOADS = api("python", "uploads")
LOOKUPS = api("python", "lookups")
HEADERS = api("python", "headers")
SHELLS = api("python", "shells")
RUNNERS = api("python", "runners")
SPAWNS = frozenset(
    f"os.{verb}{kind}"
    for verb, kinds in (("exec", "l le lp lpe v ve vp vpe"), ("spawn", "l le lp lpe v ve vp vpe"))
    for kind in kinds.split()
) | {"os.posix_spawn", "os.posix_spawnp", "os.startfile", "runpy.run_path"}
CODE = api("python", "code")
LOADERS = api("python", "loaders")
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
SOURCES: dict[str, tuple[str, bool]] = {
    name: (row["what"], row["grave"]) for name, row in load_sets("python_api")["sources"].items()
}
CAPTURED = api("python", "captured")
KEY_LISTENERS = api("python", "key_listeners")
ROOTS = words(
    "docker logging configparser xmlrpc telnetlib cv2 PIL pandas plistlib pyperclip get_ipython netrc dotenv open print"
    " json importlib shutil winreg _winreg ctypes ssl urllib3 sys sqlite3 zipfile tarfile glob io"
    " codecs gzip bz2 lzma aiofiles pathlib boto3 wget websockets http urllib pickle yaml toml os send2trash"
    " Crypto Cryptodome cryptography nacl pyAesCrypt pyaes windll"
) | {
    name.partition(".")[0]
    for names in (HTTP, SENDERS, LOOKUPS, SHELLS, RUNNERS, SPAWNS, CODE, LOADERS, SOURCES, KEY_LISTENERS)
    for name in names
}
"""The modules whose calls are judged."""


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


def is_http(name: str) -> bool:
    """Is this a call of an HTTP library that talks to a server?"""
    root, _, rest = name.partition(".")
    return root in HTTP and rest.rpartition(".")[2] in HTTP_VERBS
