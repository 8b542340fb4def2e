"""The parts of a reference: their valid characters, and the canonical spelling of an address.

Users paste addresses, and an address can disguise one host as another. So every part is checked against what it may
contain, not against what it must not: hosts are plain ASCII names, percent signs hide no slash and no dot, and user
names and passwords are not allowed. An error never repeats a secret.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

from whet.errors import UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.names import hidden
from whet.skill.versions import has_sign
from whet.sources.model import KINDS

MAX_TEXT = 2048
"""Largest length of a reference."""
ARCHIVES = (".skill", ".zip", ".tar.gz", ".tgz", ".tar")
"""File name suffixes of archives."""
WEB = ("https", "http")
PREFIXES = (*KINDS, "github", "gitlab", "bitbucket", "codeberg", "gist", "skills-sh")
"""Prefixes before a colon that select the kind of source."""

_SHOWN = 100
_DEFAULT_PORTS = {"https": "443", "http": "80", "ssh": "22"}
_USAGE = "Write owner/repo, an https address, or ./directory."

_ADDRESS = compile_late(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = compile_late(rf"{_LABEL}(?:\.{_LABEL}){{0,8}}|\[[0-9a-f:.]{{2,45}}\]")
_USER = compile_late(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_PERCENT = compile_late(r"%(?:[0-9A-Fa-f]{2})?")
_PLAIN = compile_late(r"[A-Za-z0-9._~-]")
_KEPT = "!$&'()*+,;=:@-._~"
"""Characters that are not escaped in a segment."""
_REF = compile_late(r"[^\s~^:?*\[\\\x00-\x20\x7f]{1,244}")
_NOT_IN_REF = ("..", "@{", "//", "/.")
_SECRET_KEY = compile_late(
    r"(?:^|&)(?:access_?token|api_?key|auth(?:orization)?|key|pass(?:word|wd)?|secret|sig(?:nature)?|token|"
    r"private_token|x-amz-(?:signature|security-token|credential)|x-goog-(?:signature|credential))=[^&]",
    re.IGNORECASE,
)


class OddError(Exception):
    """A text that cannot be a source; `read_ref` turns it into a `UsageError`."""

    def __init__(self, what: str, hint: str = _USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Address(NamedTuple):
    """An address split into canonical parts."""

    scheme: str
    user: str
    host: str
    """In lower case, with a port that is not the default."""
    path: str
    """Without a trailing slash; percent signs only where necessary."""
    query: str
    fragment: str

    @property
    def place(self) -> str:
        """Address without query and fragment."""
        return f"{self.scheme}://{f'{self.user}@' if self.user else ''}{self.host}{self.path}"

    @property
    def segments(self) -> tuple[str, ...]:
        """Decoded segments of the path."""
        return tuple(decoded(part) for part in self.path.split("/")[1:])


def unseen(text: str) -> bool:
    """Return whether a text contains invisible or reordering characters."""
    return not (text.isascii() and text.isprintable()) and any(map(hidden, text))


def bad_source(text: str, odd: OddError) -> UsageError:
    """Return the error for a text that is not a source."""
    return UsageError("bad-source", f"The source {quoted(text)} {odd.what}.", hint=odd.hint)


def secret() -> UsageError:
    """Return the error for an address that contains a secret, without repeating it."""
    return UsageError(
        "secret-in-address",
        "The address contains a user name, password or token. Sources are written to lock files, so Whet does not "
        "use it.",
        hint="Remove it from the address, and keep credentials in git or the environment.",
    )


def quoted(text: str) -> str:
    """Return a text for a message: without a possible password, escaped, shortened."""
    head, mark, rest = text.partition("://")
    if mark and "@" in rest:
        text = f"{head}://…@{rest.rpartition('@')[2]}"
    elif not mark and ":" in text.rpartition("@")[0] and text.partition(":")[0] not in PREFIXES:
        text = f"…@{text.rpartition('@')[2]}"
    if "?" in text:
        text = f"{text.partition('?')[0]}?…"
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def read_address(text: str) -> Address:
    """Split an address. A name and password in it are reported first, whatever else is wrong."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise OddError("is not an address")
    scheme, authority, path, query, fragment = (part or "" for part in found.groups())
    scheme = scheme.lower()
    user, at, host = authority.rpartition("@")
    if at and (scheme in WEB or ":" in user):
        user = _harmless_user(user, host, path)
    if any(map(str.isspace, text)) or "\\" in text:
        raise OddError("contains a space or a backslash")
    if user and not _USER.fullmatch(user):
        raise OddError("has an unexpected user name")
    if _SECRET_KEY.search(query):
        raise secret()
    return Address(scheme, user, _host(scheme, host), _path(path), query, fragment)


def decoded(part: str) -> str:
    """Decode a segment of an address; raise OddError if percent signs hide a slash or a dot."""
    if "%" not in part:
        return part
    try:
        text = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise OddError("has percent signs that do not decode to text") from None
    if "/" in text or "\\" in text or text in (".", "..") or unseen(text):
        raise OddError("hides a slash, a dot or invisible characters in percent signs")
    return text


def encoded(text: str) -> str:
    """Encode a text as a segment of an address."""
    return quote(text, safe="!$&'()*+,;=:-._~")


def check_ref(name: str) -> str:
    """Check a branch, tag, commit or version by git's rules for names, or a version range."""
    if has_sign(name):
        return name
    wrong = not _REF.fullmatch(name) or any(part in name for part in _NOT_IN_REF)
    if wrong or name[0] in "-./" or name.endswith((".", "/", ".lock")) or name == "@" or unseen(name):
        raise OddError("has an impossible revision", "Use a branch, a tag, a commit or a version.")
    return name


def check_inner(path: str) -> str:
    """Check a path inside a source: relative, forward slashes, no dots."""
    segments = path.split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        raise OddError("has a path with empty or dotted parts", "Use a path from the root of the source.")
    if "\\" in path or unseen(path):
        raise OddError(
            "has a path with a backslash or invisible characters", "Separate the parts with forward slashes."
        )
    return path


def pairs(fragment: str) -> dict[str, str] | None:
    """Return `ref` and `path` of a fragment; None if it is a plain word or empty."""
    named: dict[str, str] = {}
    for part in fragment.split("&"):
        key, equals, value = part.partition("=")
        if not equals or key not in ("ref", "path", "subdirectory", "egg"):
            if named:
                raise OddError("has a fragment that cannot be read", "Write #ref=NAME&path=DIRECTORY.")
            return None
        key = "path" if key == "subdirectory" else key
        if key in named:
            raise OddError(f"names its {key} twice")
        named[key] = words(value)
    return named


def words(value: str) -> str:
    """Decode a value of a fragment."""
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise OddError("has percent signs that do not decode to text") from None


def _harmless_user(user: str, host: str, path: str) -> str:
    """Return "" for the account names that two hosts put into clone addresses; raise an error for other users."""
    azure = host.lower() == "dev.azure.com" and path.startswith(f"/{user}/")
    if ":" not in user and (azure or host.lower() == "bitbucket.org"):
        return ""
    raise secret()


def _host(scheme: str, host: str) -> str:
    host = host.lower()
    name, colon, port = (
        host.rpartition(":") if re.search(r":\d*\Z", host) and not host.endswith("]") else (host, "", "")
    )
    if not _HOST.fullmatch(name) and not (scheme == "file" and not host):
        raise OddError("has an invalid host", "Write the host name in plain ASCII letters.")
    if len(name) > 253 or (colon and (not port or not 0 < int(port[:6]) < 65_536)):
        raise OddError("has an invalid host or port")
    return name if not colon or port.lstrip("0") == _DEFAULT_PORTS.get(scheme) else f"{name}:{port.lstrip('0')}"


def _path(path: str) -> str:
    """Return the canonical path: one slash between parts and none at the end."""
    parts = path.removesuffix("/").split("/")
    if any(part in ("", ".", "..") for part in parts[1:]):
        raise OddError("has empty or dotted parts")
    for part in parts:
        decoded(part)
    return "/".join(_PERCENT.sub(_spelled, quote(part, safe=f"{_KEPT}%")) for part in parts)


def _spelled(found: re.Match[str]) -> str:
    """Return one escaped byte, unescaped if possible, else in capitals; raise OddError for a lone percent sign."""
    escape = found[0].upper()
    if escape == "%":
        raise OddError("has a percent sign that decodes to nothing")
    plain = chr(int(escape[1:], 16))
    return plain if _PLAIN.fullmatch(plain) else escape
