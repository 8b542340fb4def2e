"""Read the text of a source into a reference, and write references back.

    read_ref("anthropics/skills/skills/pdf@main", place)
    read_ref("https://github.com/anthropics/skills/tree/main/skills/pdf", place)
        -> Ref("git", "https://github.com/anthropics/skills", "main", "skills/pdf")

A reference has one canonical text, `kind:location#ref=...&path=...`, which a lock records and `read_ref` reads back to
the same value. All other spellings are shorter, or copied from a browser. This module never uses the network, and asks
the disk only whether a file exists. For text that a user typed, call `existing` first.

The trust of a source (`ref_trust`) depends on the address of its bytes, and never on what the source says about itself.
A repository is trusted if it is exactly one of the vendors' or of the user's list (`whet.guard.trust`). A site, a hub
or a single file is trusted only if the list names exactly it; an open registry vouches for nobody, so only single
skills of it can be listed. A marketplace is never trusted: the address of each plugin counts. If an address redirects
to another one, ask with the other one: a redirect does not pass trust on.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
from typing import TYPE_CHECKING
from urllib.parse import quote

from whet.errors import UsageError, WhetError
from whet.guard.trust import origin_trust, source_of
from whet.library.settings import expand
from whet.notes import Note
from whet.patterns import compile_late
from whet.skill.finder import is_main_file
from whet.skill.names import hidden
from whet.skill.versions import has_sign
from whet.sources.model import Ref
from whet.sources.refs.pages import (
    CLAWHUB,
    FORGES,
    GIST,
    GITHUB,
    MARKETPLACE_FILE,
    PAGE_HOSTS,
    clawhub_page,
    document,
    gist,
    is_archive,
    page,
    registered,
    repository,
    shorthand,
    web_place,
)
from whet.sources.refs.parts import (
    MAX_TEXT,
    PREFIXES,
    WEB,
    OddError,
    bad_source,
    check_inner,
    check_ref,
    decoded,
    pairs,
    quoted,
    read_address,
    secret,
    unseen,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.library.roots import Place

_BLANKS = " \t\r\n"
_SCP = compile_late(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)@([A-Za-z0-9.-]+):(?!//)(.+)")
_SCHEME = compile_late(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HASH = compile_late(r"sha256:[0-9a-f]{64}")
_COMMIT = compile_late(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_PLACES = compile_late(r"about|blob|data|ext|fd|file|ftps?|git|javascript|mailto|rsync|sftp|vbscript|wss?")
"""Schemes that never lead to a skill, or that run a program."""
_DRIVE = compile_late(r"[A-Za-z]:[\\/]")
_NO_ROOT = compile_late(r"[\\/]{2}|[A-Za-z]:(?![\\/])")
_KEPT = "/!$&'()*+,;=:@-._~"
_REPOSITORY = compile_late(r"(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)+")
"""Path of a repository in an OCI registry."""
_SITES = ("well-known", "hub")
GALLERY = "whet"
"""Location of the skills that ship with Whet."""


def read_ref(text: str, place: Place) -> Ref:
    """Read a source. Raise UsageError `bad-source`, `unknown-source` or `secret-in-address`."""
    try:
        return _checked(_read(_plain(text), place))
    except OddError as odd:
        raise bad_source(text, odd) from None


def read_remote(text: str) -> Ref:
    """Like `read_ref`, but for remote sources only: the result does not depend on this machine."""
    try:
        plain = _plain(text)
        return _checked(_explicit(plain, None) or _remote(plain))
    except OddError as odd:
        raise bad_source(text, odd) from None


def ref_text(ref: Ref) -> str:
    """Return the canonical text of a reference, which a lock records and `read_ref` reads back."""
    values = [f"{key}={_escaped(value)}" for key, value in (("ref", ref.ref), ("path", ref.path)) if value]
    if not values and ref.kind in ("clawhub", "hub") and ref.location.count("/") > 2:
        values = ["path="]  # without it, the end of the location would be read as the name of a skill
    location = _escaped(ref.location) if "://" not in ref.location else ref.location
    return f"{ref.kind}:{location}{'#' if values else ''}{'&'.join(values)}"


def shown(ref: Ref) -> str:
    """Return the shortest human-readable text for a reference."""
    if ref.kind in ("path", "archive") or ref.location.startswith("file:"):
        plain = not ref.ref and not ref.path and is_archive(ref.location) == (ref.kind == "archive")
        return ref.location if plain and ref.kind != "marketplace" else ref_text(ref)
    short = _short(ref)
    try:
        return short if short and read_remote(short) == ref else ref_text(ref)
    except WhetError:
        return ref_text(ref)


def show_source(text: str, place: Place) -> str:
    """Return a source as users write it. One of several skills in a directory gets a path of its own."""
    try:
        ref = read_ref(text, place) if text else None
    except WhetError:  # a text of a later version of Whet
        return text
    if ref is None:
        return ""
    return f"{ref.location}/{ref.path}" if ref.kind == "path" and ref.path and not ref.ref else shown(ref)


def candidates(ref: Ref) -> tuple[Ref, ...]:
    """Return the possible meanings of a reference to a repository, likeliest first: branch names may contain slashes.

    The address of a page does not tell where the branch ends and the path begins: `tree/feature/new/skills/pdf` is read
    as branch `feature`, path `new/skills/pdf`. A source tries these in order and takes the first whose revision exists.
    If git has a branch `feature`, it cannot have one below `feature/`, so at most one of them fits.
    """
    if ref.kind not in ("git", "marketplace") or not ref.ref or not ref.path or _COMMIT.fullmatch(ref.ref):
        return (ref,)
    parts = ref.path.split("/")
    longer = (
        ref._replace(ref="/".join((ref.ref, *parts[:count])), path="/".join(parts[count:]))
        for count in range(1, len(parts) + 1)
    )
    return (ref, *longer)


def existing(text: str, place: Place) -> Ref | None:
    """Return the local file or directory that a user means by a path without `./`, or by the name of an archive.

    An existing path takes precedence over a repository or tap with the same spelling. A word without a slash is the
    name of a skill. Only for text that a user typed: the texts of locks and skills mean the same everywhere.
    """
    plain = text.strip(_BLANKS)
    if not plain or ":" in plain or unseen(plain) or plain.startswith("-") or is_local(plain, place):
        return None
    path = path_of(plain, place)
    if os.path.isfile(path) if is_archive(plain) else "/" in plain and os.path.exists(path):
        return on_disk(absolute(plain, place), place)
    return None


def reading_notes(text: str, place: Place, taps: Iterable[str] = ()) -> tuple[Note, ...]:
    """Return notes about what else this text may mean; `taps` are the names that the user gave to sources."""
    plain = text.strip(_BLANKS).removesuffix("/")
    here = path_of(plain, place) if plain and not unseen(plain) else ""
    if not here or ":" in plain or is_local(plain, place) or not os.path.isdir(here):
        return ()
    above, slash, below = plain.partition("/")
    if not slash:
        message = f"{quoted(plain)} is read as the name of a skill, but there is also a directory with that name here."
        return (Note("local-directory-too", "info", message, f"Write ./{plain} to use the directory.", path=here),)
    if above in taps:
        other, what = f"{above}:{below}", "the tap"
    else:
        other, what = f"github:{plain}", "the GitHub repository"
        try:
            read_remote(other)
        except WhetError:  # no other meaning is possible
            return ()
    message = f"{plain} is a directory here, and Whet uses it. Write {other} for {what}."
    return (Note("local-directory-too", "info", message, f"Write {other} for {what}.", path=here),)


def _plain(text: str) -> str:
    """Strip the text; raise OddError if it cannot be a source."""
    plain = text.strip(_BLANKS)
    if not plain:
        raise OddError("is empty")
    if len(plain) > MAX_TEXT:
        raise OddError(f"has {len(plain)} characters; the limit is {MAX_TEXT}")
    if unseen(plain):
        raise OddError("contains control or invisible characters")
    if plain.startswith("-"):
        raise OddError("starts with a hyphen, like an option")
    return plain


def _checked(ref: Ref) -> Ref:
    """Return the reference; raise OddError if one of its parts is invalid."""
    if ref.ref and not (ref.kind in ("url", "oci") and _HASH.fullmatch(ref.ref)):
        check_ref(ref.ref)
    if ref.path:
        check_inner(ref.path)
    if unseen(ref.location):
        raise OddError("leads to a name with control or invisible characters")
    if len(ref_text(ref)) > MAX_TEXT:
        raise OddError(f"is longer than {MAX_TEXT} characters when written out")
    return ref


def _read(text: str, place: Place) -> Ref:
    return _explicit(text, place) or local(text, place) or _remote(text, place)


# Texts with an explicit kind


def _explicit(text: str, place: Place | None) -> Ref | None:
    """Read `kind:...`, canonical or short; return None for other texts."""
    kind, colon, rest = text.partition(":")
    kind = kind.lower()
    if not colon or kind not in PREFIXES or rest.startswith("//"):
        return None
    if not rest:
        raise OddError("has nothing after the colon")
    if kind in FORGES:
        return shorthand(rest, FORGES[kind])
    if kind == "skills-sh":
        return shorthand(rest)
    if kind == "gist":
        return gist(rest.partition("@")[0].split("/"), rest.partition("@")[2])
    body, _, fragment = rest.partition("#")
    named = pairs(fragment) if fragment else None
    if named is not None:
        found = _EXPLICIT[kind](body, place, True)
        if (found.ref and "ref" in named) or (found.path and "path" in named):
            raise OddError("names two revisions or two paths")
        return found._replace(ref=named.get("ref", found.ref), path=named.get("path", found.path))
    found = _EXPLICIT[kind](body, place, False)
    if not fragment:
        return found
    if kind == "git":
        if found.ref:
            raise OddError("names two revisions")
        return found._replace(ref=words(fragment))
    if kind == "marketplace":
        return found._replace(path=words(fragment))
    if kind == "url":
        return document(read_address(rest))
    raise OddError("has a fragment that has no meaning here", "Write #ref=NAME&path=NAME.")


def _path(body: str, place: Place | None, _exact: bool) -> Ref:
    if place is None:
        raise OddError("is a path on a disk")
    return Ref("path", absolute(words(body), place))


def _archive(body: str, place: Place | None, exact: bool) -> Ref:
    return _path(body, place, exact)._replace(kind="archive")


def _gallery(body: str, _place: Place | None, _exact: bool) -> Ref:
    return Ref("gallery", GALLERY, path="" if body == GALLERY else registered([body]))


def _git(body: str, place: Place | None, _exact: bool) -> Ref:
    if place is not None and is_local(body, place):
        return Ref("git", file_address(absolute(words(body), place), place))
    if body.lower().startswith("file:"):
        return Ref("git", file_address(file_path(body, place), place))
    if found := _scp(body):
        return found
    return repository(body) if "://" in body else shorthand(body)


def _url(body: str, _place: Place | None, _exact: bool) -> Ref:
    web_place(body)  # only http or https
    return document(read_address(body))


def _well_known(body: str, _place: Place | None, _exact: bool) -> Ref:
    return Ref("well-known", web_place(body).partition("/.well-known")[0])


def _clawhub(body: str, _place: Place | None, exact: bool) -> Ref:
    if "://" in body:
        location = web_place(body)
        return Ref("clawhub", location) if exact else clawhub_page(read_address(body))
    name, _, ref = body.removeprefix("@").partition("@")
    return Ref("clawhub", CLAWHUB, ref, registered(name.split("/")))


def _hub(body: str, _place: Place | None, exact: bool) -> Ref:
    """Read a hub; the last two segments name a skill, the segments before them belong to the address of the hub."""
    if "://" not in body:
        raise OddError("does not say which hub", "Write hub:https://host/owner/name.")
    location = web_place(body)
    if exact or location.count("/") < 3:
        return Ref("hub", location)
    address = read_address(body)
    *base, last = address.segments
    name, _, ref = last.partition("@")
    path = registered([*base[-1:], name])
    kept = "/".join(address.path.split("/")[: -1 - len(base[-1:])])
    return Ref("hub", address._replace(path=kept).place, ref, path)


def _oci(body: str, _place: Place | None, _exact: bool) -> Ref:
    """Read a repository of an OCI registry; a tag follows after a colon, a digest or a range after an @."""
    above, _, last = body.rpartition("/")
    name, _, at = last.partition("@")
    name, _, tag = name.partition(":")
    address = read_address(f"{'' if '://' in body else 'https://'}{above}/{name}")
    if address.scheme not in WEB or address.query or not _REPOSITORY.fullmatch(address.path):
        raise OddError("does not name a repository of a registry", "Write oci:HOST/REPOSITORY:TAG.")
    return Ref("oci", address.place, at or tag)


def _marketplace(body: str, place: Place | None, exact: bool) -> Ref:
    """Read a marketplace: in a repository, at an address that ends in its file name, or in a directory."""
    if place is not None and is_local(body, place):
        return Ref("marketplace", absolute(words(body), place))
    if body.partition(":")[0].lower() in WEB and body.partition("?")[0].endswith(f"/{MARKETPLACE_FILE}"):
        found = page(body)
        return found if found.kind == "marketplace" else Ref("marketplace", web_place(body))
    found = _git(body, place, exact)
    if found.path:
        raise OddError("has a path instead of a plugin", "Write marketplace:owner/repo#plugin.")
    return Ref("marketplace", found.location, found.ref)


_EXPLICIT: dict[str, Callable[[str, Place | None, bool], Ref]] = {
    "path": _path,
    "archive": _archive,
    "gallery": _gallery,
    "git": _git,
    "url": _url,
    "well-known": _well_known,
    "clawhub": _clawhub,
    "marketplace": _marketplace,
    "hub": _hub,
    "oci": _oci,
}
# Texts without a kind


def _remote(text: str, place: Place | None = None) -> Ref:
    """Read an address or a shorthand."""
    scheme, mark, _ = text.partition("://")
    if mark and _SCHEME.fullmatch(f"{scheme}:"):
        return _by_scheme(scheme.lower(), text, place)
    if any(map(str.isspace, text)) or "\\" in text:
        raise OddError("contains a space or a backslash")
    if found := _scp(text):
        return found
    if found_scheme := _SCHEME.match(text):
        if _NO_PLACES.fullmatch(found_scheme[1].lower()) or "::" in text:
            raise OddError("is an address of an unsupported kind")
        raise _unknown(text, place)
    first, slash, rest = text.partition("/")
    if first.lower().removeprefix("www.") in PAGE_HOSTS:
        return page(f"https://{text}")
    if slash and "." in first.partition("@")[2] and not first.startswith("@"):
        raise secret()
    if not slash or not rest or "." in first or first.startswith("@"):
        raise _unknown(text, place)
    return shorthand(text)


def _by_scheme(scheme: str, text: str, place: Place | None) -> Ref:
    if scheme in WEB:
        return page(text)
    if scheme == "ssh":
        return repository(text)
    if scheme == "file":
        body, _, fragment = text.partition("#")
        if fragment:
            return _pip_file(body, fragment if "=" in fragment else f"ref={fragment}", place)
        path = file_path(text, place)
        found = on_disk(path, place) if place is not None else Ref("path", path)
        return Ref("git", file_address(path, place)) if found == Ref("path", path) else found
    if scheme.startswith("git+") and scheme[4:] in (*WEB, "ssh", "file"):
        body, _, fragment = text[4:].partition("#")
        if scheme == "git+file":
            return _pip_file(body, fragment, place)
        return repository(f"{body}#{fragment}" if fragment else body)
    raise OddError("is an address of an unsupported kind", "Use https.")


def _pip_file(body: str, fragment: str, place: Place | None) -> Ref:
    path, _, ref = body.partition("@")
    named = pairs(fragment) if fragment else {}
    if named is None:
        raise OddError("has a fragment that cannot be read", "Write #subdirectory=DIRECTORY.")
    return Ref("git", file_address(file_path(path, place), place), ref or named.get("ref", ""), named.get("path", ""))


def _scp(text: str) -> Ref | None:
    """Read `git@host:owner/repo`, which git reads as ssh. For users other than git, the path begins in their home."""
    found = _SCP.fullmatch(text)
    if found is None:
        return None
    user, host, path = found.groups()
    home = "" if user == "git" or path.startswith(("/", "~")) or host.lower() in PAGE_HOSTS else "~/"
    return repository(f"ssh://{user}@{host}/{home}{path.removeprefix('/')}")


def _unknown(text: str, place: Place | None) -> UsageError:
    """Return the error for a text that cannot be classified."""
    word = text if len(text) <= 64 else f"{text[:64]}…"
    if place is not None and ":" not in text and os.path.isdir(path_of(text, place)):
        hint = f"Write ./{word} for the directory of that name."
    elif "." in word.partition("/")[0] and not any(mark in word for mark in ":@?"):
        hint = f"Write https://{word} for an address, or ./{word} for a file or directory."
    elif word.startswith("@") and "/" in word:
        hint = f"Write clawhub:{word[1:]} for a skill of ClawHub."
    else:
        hint = "Write owner/repo, an https address or ./directory; `whet sources list` shows the names of sources, "
        hint += "`whet search` looks for a skill."
    return UsageError("unknown-source", f"{quoted(text)} is not a source that Whet knows.", hint=hint)


# Writing


def _escaped(value: str) -> str:
    """Return a value with percent signs for separators and invisible characters."""
    if value.isascii() and value.isprintable() and not any(mark in value for mark in "%#& "):
        return value
    return "".join(
        quote(c, safe="", errors="surrogatepass") if c in "%#&" or c.isspace() or hidden(c) else c for c in value
    )


def _short(ref: Ref) -> str:
    """Return the shortest spelling that may mean a reference; `shown` checks whether it does."""
    at = f"@{ref.ref}" if ref.ref else ""
    inner = f"/{ref.path}" if ref.path else ""
    if ref.kind in ("git", "marketplace"):
        location = _short_location(ref.location)
        if ref.kind == "git":
            return f"{location}{inner}{at}"
        return f"marketplace:{location}{at}{f'#{ref.path}' if ref.path else ''}"
    if ref.kind == "clawhub" and ref.location == CLAWHUB:
        return f"clawhub:{ref.path}{at}" if ref.path else CLAWHUB
    if ref.kind == "gallery":
        return f"gallery:{ref.path or GALLERY}"
    if ref.kind == "hub":
        return f"hub:{ref.location}{inner}{at}"
    if ref.kind == "oci":
        mark = "@" if _HASH.fullmatch(ref.ref) or has_sign(ref.ref) else ":"
        return f"oci:{ref.location.removeprefix('https://')}{mark if ref.ref else ''}{ref.ref}"
    return f"{ref.location}#{ref.ref.replace(':', '=')}" if ref.kind == "url" and ref.ref else ref.location


def _short_location(location: str) -> str:
    for prefix, forge in FORGES.items():
        start = f"https://{forge.host}/"
        if location.startswith(start):
            name = location.removeprefix(start).removesuffix(forge.suffix)
            return name if forge is GITHUB else f"{prefix}:{name}"
    if location.startswith(f"{GIST}/"):
        return f"gist:{location.removeprefix(f'{GIST}/').removesuffix('.git')}"
    return location


def is_local(text: str, place: Place) -> bool:
    """Return whether a text is written as a path on the disk."""
    if text in (".", "..", "~") or text.startswith(("./", "../", "/", "~/")):
        return True
    return place.platform == "win32" and "://" not in text and (bool(_DRIVE.match(text)) or "\\" in text)


def path_of(text: str, place: Place) -> str:
    """Return the absolute path of a text."""
    flavour = ntpath if place.platform == "win32" else posixpath
    path = flavour.normpath(flavour.join(place.directory, expand(text, place.home)))
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


def absolute(text: str, place: Place) -> str:
    """Return the absolute path of a text; raise OddError if it is not a path of this machine."""
    if place.platform == "win32" and _NO_ROOT.match(text):
        raise OddError("is a share, or a path without its root", r"Write C:\directory.")
    if place.platform != "win32" and _DRIVE.match(text):
        raise OddError("is a path of another system", "Separate directories with forward slashes.")
    if text.startswith("~") and expand(text, place.home) == text:
        raise OddError("names another user's home", "Write the whole path.")
    return path_of(text, place)


def local(text: str, place: Place) -> Ref | None:
    """Read a path on the disk; return None for other texts."""
    if not is_local(text, place):
        return None
    if place.platform != "win32" and "\\" in text:
        raise OddError("contains a backslash", "Separate directories with forward slashes.")
    return on_disk(absolute(text, place), place)


def on_disk(path: str, place: Place) -> Ref:
    """Return the reference of a directory, or of the skill, marketplace or archive that a file belongs to."""
    flavour = ntpath if place.platform == "win32" else posixpath
    above, name = flavour.split(path)
    if os.path.isdir(path):
        return Ref("path", path)
    if is_main_file(name) and (os.path.isfile(path) or not os.path.isdir(above)):
        return Ref("path", above)
    if name == MARKETPLACE_FILE:
        for inner in (".claude-plugin", flavour.join(".agents", "plugins")):
            above = above.removesuffix(f"{flavour.sep}{inner}") or flavour.sep
        return Ref("marketplace", above)
    return Ref("archive" if is_archive(name) or os.path.isfile(path) else "path", path)


def file_path(text: str, place: Place | None) -> str:
    """Return the local path of a `file:` address."""
    if not text.lower().startswith("file://"):
        raise OddError("is not a file address", "Write file:///path/to/repository.")
    address = read_address(text)
    if address.host not in ("", "localhost") or not address.path or address.user:
        raise OddError("is a network share or empty", "Write file:///path/to/repository.")
    path = "/".join(map(decoded, address.path.split("/")))
    if place is None or place.platform != "win32":
        return path
    return absolute(path.lstrip("/") if _DRIVE.match(path.lstrip("/")) else path, place)


def file_address(path: str, place: Place | None) -> str:
    """Return the `file:` address of a repository at an absolute path."""
    if path == "/" or path.endswith(":\\"):
        raise OddError("names a whole disk, not a repository", "Write file:///path/to/repository.")
    if place is not None and place.platform == "win32":
        if not _DRIVE.match(path):
            raise OddError("is a path without its root", r"Write C:\directory.")
        path = "/" + path.replace("\\", "/")
    return f"file://{quote(path, safe=_KEPT)}"


def ref_trust(ref: Ref, trusted_sources: Iterable[str] = ()) -> str:
    """Return the trust of a source: `local`, `trusted` or `community`."""
    if ref.kind == "path":
        return "local"
    if ref.kind == "gallery":
        return "trusted" if ref.location == GALLERY else "community"
    if ref.kind == "git":
        trusted = _is_repository(ref.location) and origin_trust(ref.location, trusted_sources) == "trusted"
    else:
        trusted = ref.location.startswith("https://") and any(_lists(entry, ref) for entry in trusted_sources)
    return "trusted" if trusted else "community"


def _is_repository(location: str) -> bool:
    """Return whether this is the address of a repository, and not of a file in one."""
    place = location.partition("://")[2].removeprefix("git@").removesuffix(".git").lower()
    return bool(place) and place == source_of(location)


def _lists(entry: str, ref: Ref) -> bool:
    """Return whether an entry of the user's list names exactly this source."""
    try:
        listed = read_remote(entry)
    except WhetError:  # the name of a repository, a path or an empty text does not name this source
        return False
    if listed.location != ref.location or listed.ref:
        return False
    if ref.kind in _SITES:
        return listed.kind in ("well-known", ref.kind) and listed.path in ("", ref.path)
    if ref.kind == "clawhub":
        return listed.kind == "clawhub" and listed.path == ref.path and "/" in ref.path
    return ref.kind == listed.kind and ref.kind in ("url", "oci")
