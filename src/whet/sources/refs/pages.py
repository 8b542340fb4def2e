"""Resolve the addresses that users copy from a browser to the repository or package of a skill.

The page of a directory, the page of a file, its raw form, the page of a registry: each shows a repository or a package,
and this module finds which one. An unknown address is read literally: an archive, a document, or a site that publishes
its skills under `/.well-known/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.finder import is_main_file
from whet.sources.model import Ref
from whet.sources.refs.parts import (
    ARCHIVES,
    WEB,
    Address,
    OddError,
    check_ref,
    decoded,
    encoded,
    pairs,
    read_address,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Forge(NamedTuple):
    """A host of repositories with one naming scheme."""

    host: str
    suffix: str = ".git"
    """Suffix of its clone addresses; without it some hosts redirect."""
    nested: bool = False
    """Whether groups can be nested, so that an address does not tell where a repository ends."""


FORGES = {
    "github": Forge("github.com", ""),
    "gitlab": Forge("gitlab.com", nested=True),
    "bitbucket": Forge("bitbucket.org"),
    "codeberg": Forge("codeberg.org"),
}
"""Forges by prefix."""
GITHUB = FORGES["github"]
CLAWHUB = "https://clawhub.ai"
ON_HUB = "clawhub"
"""Path below which a Whet hub serves the same API."""
GIST = "https://gist.github.com"
MARKETPLACE_FILE = "marketplace.json"

_BY_HOST = {forge.host: forge for forge in FORGES.values()}
_NAME = compile_late(r"[A-Za-z0-9_.-]{1,100}")
_OWNER = compile_late(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})")
_GIST_ID = compile_late(r"[0-9a-f]{1,40}")
_REGISTERED = compile_late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_AT = compile_late(r"(?<=[^/])@")
"""Separator of path and revision; the `@` of `packages/@scope` is not one."""
_PINNED = compile_late(r"sha256=([0-9A-Fa-f]{64})")
_FILE_PAGES = ("blob", "raw", "edit", "blame")
_OTHER_PAGES = compile_late(
    r"(?:actions|activity|branches|commits|compare|contributors|discussions|forks|graphs|issues|labels|milestones|network|"
    r"packages|projects|pulls?|pulse|releases|security|settings|stargazers|tags|watchers|wiki|tree|commit|archive|blob|raw|"
    r"edit|blame)"
)
_WHOLE = "Use the address of the repository, or of the skill's directory in it."


def page(text: str) -> Ref:
    """Return the source behind an http or https address."""
    address = read_address(text)
    host = address.host.removeprefix("www.")
    if reader := _PAGES.get(host):
        return reader(address._replace(scheme="https", host=host))
    return _foreign_page(address) or _published(address)


def repository(text: str) -> Ref:
    """Return the source at an address that the user says is a repository, on any host."""
    address = read_address(text)
    if address.scheme == "ssh":
        return _plain(address)
    if address.scheme not in WEB:
        raise OddError("is not a repository address that Whet supports", "Use https, ssh or file.")
    host = address.host.removeprefix("www.")
    if reader := _PAGES.get(host):
        found = reader(address._replace(scheme="https", host=host))
        if found.kind != "git":
            raise OddError("does not lead to a repository", _WHOLE)
        return found
    found_page = _foreign_page(address)
    segments = address.segments
    if found_page is None and segments[2:3] == ("tree",) and len(segments) > 3:
        return _in_repository(_joined(address, 2), *_revision(segments[3:]))
    return found_page if found_page and found_page.kind == "git" else _plain(address)


def shorthand(text: str, forge: Forge = GITHUB) -> Ref:
    """Read `owner/repo[/path][@ref]` or `owner/repo[/path]#ref` on a forge."""
    body, _, fragment = text.partition("#")
    if any(mark in body for mark in "%?\\:") or any(map(str.isspace, text)):
        raise OddError("is neither owner/repo nor an address")
    body, ref = _at(body)
    segments = body.removesuffix("/").split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        raise OddError("has empty or dotted parts")
    if forge.nested:
        owners, path = segments, []
    else:
        owners, path = segments[:2], segments[2:]
    if path and is_main_file(path[-1]):
        path = path[:-1]
    return _with_fragment(Ref("git", _forge_location(forge, owners), ref, "/".join(path)), fragment)


def gist(segments: Sequence[str], ref: str = "") -> Ref:
    """Read a gist: `[user/]id[/revision]`."""
    parts = list(segments)
    if len(parts) > 1 and not (_GIST_ID.fullmatch(parts[0]) and _GIST_ID.fullmatch(parts[1])):
        del parts[0]
    if not parts or len(parts) > 2 or not _GIST_ID.fullmatch(parts[0]):
        raise OddError("names no gist", "Write gist:ID, or the address of its page.")
    return Ref("git", f"{GIST}/{parts[0]}.git", ref or "".join(parts[1:]))


def registered(segments: Sequence[str]) -> str:
    """Return `owner/slug` or `slug`, the name of a skill in a registry."""
    if not 1 <= len(segments) <= 2 or not all(_REGISTERED.fullmatch(segment) for segment in segments):
        raise OddError(
            "does not name a skill in a registry", "Write owner/name or name, optionally followed by @version."
        )
    return "/".join(segments)


def clawhub_page(address: Address) -> Ref:
    """Read the address of a registry, or of one skill in it."""
    segments = [segment for segment in address.segments if segment != "skills"]
    within = segments.pop(0) if segments[:1] == [ON_HUB] and len(segments) > 2 else ""
    base = address._replace(path=f"/{within}" if within else "").place
    last, _, ref = segments[-1].partition("@") if segments else ("", "", "")
    if len(segments) > 2 or (len(segments) == 1 and address.path.count("/") == 1):
        raise OddError("is not the page of a skill", "Write clawhub:owner/slug.")
    return Ref("clawhub", base, ref, registered([*segments[:-1], last]) if segments else "")


def web_place(text: str) -> str:
    """Return the canonical http or https address without query and fragment."""
    address = read_address(text)
    if address.scheme not in WEB:
        raise OddError("is not an https address", "Use https.")
    return address.place


def document(address: Address) -> Ref:
    """Return the file at an address; the query is part of its location, `#sha256=...` pins its content."""
    query = f"?{address.query}" if address.query else ""
    if not query.isascii() or not query.isprintable():
        raise OddError("has a query that Whet cannot read")
    pinned = _PINNED.fullmatch(address.fragment)
    return Ref("url", f"{address.place}{query}", f"sha256:{pinned[1].lower()}" if pinned else "")


def is_archive(name: str) -> bool:
    """Return whether this is the file name of an archive."""
    return name.lower().endswith(ARCHIVES)


def _at(body: str) -> tuple[str, str]:
    found = _AT.search(body)
    if found is None:
        return body, ""
    return body[: found.start()], check_ref(body[found.end() :])


def _with_fragment(ref: Ref, fragment: str) -> Ref:
    """Return the reference with the values of a fragment: `#ref`, or `#ref=...&path=...`."""
    named = pairs(fragment) if fragment else {}
    revision, path = (words(fragment), "") if named is None else (named.get("ref", ""), named.get("path", ""))
    if (revision and ref.ref and revision != ref.ref) or (path and ref.path and path != ref.path):
        raise OddError("names two revisions or two paths")
    return ref._replace(ref=ref.ref or revision, path=ref.path or path)


def _forge_location(forge: Forge, owners: Sequence[str], scheme: str = "https") -> str:
    """Return the location of a repository in its canonical spelling."""
    names = [*owners[:-1], owners[-1].removesuffix(".git")] if owners else []
    if len(names) < 2 or (len(names) > 2 and not forge.nested):
        raise OddError("names no repository", "Write owner/repo.")
    if not all(_NAME.fullmatch(name) for name in names) or names[-1] in ("", ".", "..") or names[-1][0] == "-":
        raise OddError(
            "has unexpected characters in the owner or repository", "Use the names as their site spells them."
        )
    if forge is GITHUB:
        if not _OWNER.fullmatch(names[0]):
            raise OddError("has an owner that cannot exist on GitHub", "Write owner/repo.")
        names = [name.lower() for name in names]
    place = f"{forge.host}/{'/'.join(names)}"
    return f"ssh://git@{place}" if scheme == "ssh" else f"https://{place}{forge.suffix}"


def _plain(address: Address) -> Ref:
    """Return the repository at exactly this address, with an optional revision after `@`."""
    path, ref = _at(address.path)
    ref = check_ref(decoded_path(ref)) if ref else ""
    if not path.strip("/"):
        raise OddError("names no repository", _WHOLE)
    place = address._replace(path=path)
    if forge := _BY_HOST.get(address.host):
        location = _forge_location(forge, place.segments, address.scheme)
    else:
        location = place.place
    return _with_fragment(Ref("git", location, ref), address.fragment)


def decoded_path(path: str) -> str:
    """Decode a path of several segments."""
    return "/".join(map(decoded, path.split("/")))


def _joined(address: Address, count: int, suffix: str = "") -> str:
    """Return the repository that the first segments of an address name."""
    path = "/".join(address.path.split("/")[: count + 1]).removesuffix(suffix)
    return f"{address._replace(path=path).place}{suffix}"


def _revision(segments: Sequence[str]) -> tuple[str, list[str]]:
    """Split the segments after `tree` or `raw` into revision and path; of a name with slashes, only its first part."""
    rest = list(segments)
    if rest[:1] == ["refs"] and rest[1:2] in (["heads"], ["tags"]):
        rest = rest[2:]
    if not rest:
        raise OddError("names no revision", _WHOLE)
    return check_ref(rest[0]), rest[1:]


def _in_repository(location: str, ref: str, path: Sequence[str]) -> Ref:
    return Ref("git", location, ref, "/".join(path))


def _file(location: str, raw: str, ref: str, path: Sequence[str]) -> Ref:
    """Return the source for the page of a file: the whole skill, a marketplace, or the archive at `raw`."""
    if not path:
        raise OddError("names no file", _WHOLE)
    if is_main_file(path[-1]):
        return _in_repository(location, ref, path[:-1])
    if path[-1] == MARKETPLACE_FILE:
        known = (".claude-plugin", ".agents/plugins", "")
        return Ref("marketplace", location, ref) if "/".join(path[:-1]) in known else Ref("marketplace", raw)
    if is_archive(path[-1]):
        return Ref("url", raw)
    raise OddError("points to a single file that is not a skill", _WHOLE)


def _github(address: Address) -> Ref:
    segments = address.segments
    if len(segments) < 2:
        raise OddError("names no repository", "Write owner/repo.")
    kind, rest = (segments[2] if len(segments) > 2 else ""), segments[3:]
    location = _forge_location(GITHUB, [segments[0], _at(segments[1])[0]])
    if kind == "tree" and rest:
        return _in_repository(location, *_revision(rest))
    if kind in _FILE_PAGES and rest:
        ref, path = _revision(rest)
        raw = "/".join(encoded(part) for part in (*location.split("/")[3:], ref, *path))
        return _file(location, f"https://raw.githubusercontent.com/{raw}", ref, path)
    if kind == "commit" and len(rest) == 1:
        return _in_repository(location, check_ref(rest[0]), [])
    if kind == "releases" and rest[:1] == ("tag",) and len(rest) > 1:
        return _in_repository(location, check_ref("/".join(rest[1:])), [])
    if kind in ("releases", "archive") and is_archive(segments[-1]):
        return document(address)
    if _OTHER_PAGES.fullmatch(kind):
        raise OddError("is not a page of a repository's files", _WHOLE)
    anchor = "readme" in address.query or address.fragment.lower() == "readme"
    return shorthand("/".join(segments) + ("" if anchor or not address.fragment else f"#{address.fragment}"))


def _raw_github(address: Address) -> Ref:
    owner, repo, *rest = (*address.segments, "", "")
    ref, path = _revision([part for part in rest if part])
    return _file(_forge_location(GITHUB, [owner, repo]), address.place, ref, path)


def _gist(address: Address) -> Ref:
    segments = [part for part in address.segments if part != "raw"]
    if segments and not _GIST_ID.fullmatch(segments[-1]):
        segments[-1] = segments[-1].removesuffix(".git")
    if len(segments) > 2 and is_main_file(segments[-1]):
        del segments[-1]
    return gist(segments)


def _skills_sh(address: Address) -> Ref:
    if len(address.segments) not in (2, 3):
        raise OddError("is not the page of a skill", "Write owner/repo, or owner/repo/skill.")
    return shorthand("/".join(address.segments))


def _foreign_page(address: Address) -> Ref | None:
    """Read the page of a self-hosted forge, recognized by its path; return None for other pages."""
    segments = address.segments
    if "-" in segments[2:]:
        return _gitlab_page(address, segments.index("-", 2))
    if "_git" in segments:
        return _azure_page(address, segments.index("_git"))
    if segments[2:3] in (("src",), ("raw",)) and segments[3:4] in (("branch",), ("tag",), ("commit",)):
        ref, path = _revision(segments[4:])
        return _file_or_directory(_known(address, _joined(address, 2, ".git")), address, ref, path)
    if segments and _at(segments[-1])[0].endswith(".git"):
        return _plain(address)
    return None


def _file_or_directory(location: str, address: Address, ref: str, path: Sequence[str]) -> Ref:
    """Return the source for a page whose address does not tell files from directories."""
    if path and (is_main_file(path[-1]) or is_archive(path[-1]) or path[-1] == MARKETPLACE_FILE):
        raw = address._replace(path=address.path.replace("/src/", "/raw/", 1))
        return _file(location, raw.place, ref, path)
    return _in_repository(location, ref, path)


def _known(address: Address, location: str) -> str:
    """Return the location in the spelling of its forge, if Whet knows the forge."""
    forge = _BY_HOST.get(address.host)
    return _forge_location(forge, read_address(location).segments) if forge else location


def _gitlab_page(address: Address, at: int) -> Ref:
    segments = address.segments
    location = _known(address, _joined(address, at, ".git"))
    kind, rest = segments[at + 1 : at + 2], segments[at + 2 :]
    if kind == ("tree",) and rest:
        return _in_repository(location, *_revision(rest))
    if kind in (("blob",), ("raw",)) and rest:
        ref, path = _revision(rest)
        return _file(location, address.place.replace("/-/blob/", "/-/raw/", 1), ref, path)
    if kind == ("archive",) and is_archive(segments[-1]):
        return document(address)
    raise OddError("is not a page of a repository's files", _WHOLE)


def _azure_page(address: Address, at: int) -> Ref:
    """Read `.../_git/repository?path=/skills/pdf&version=GBmain`."""
    if len(address.segments) <= at + 1:
        raise OddError("names no repository", _WHOLE)
    place = address._replace(path="/".join(address.path.split("/")[: at + 3]))
    asked = parse_qs(address.query, max_num_fields=32)
    version = asked.get("version", [""])[0]
    path = asked.get("path", [""])[0].strip("/")
    if version[:2] in ("GB", "GT", "GC"):
        version = check_ref(version[2:])
    found = _plain(place)
    ref = found._replace(ref=found.ref or version, path=found.path or path)
    if is_main_file(ref.path.rpartition("/")[2]):
        ref = ref._replace(path=ref.path.rpartition("/")[0])
    return ref


def _gitlab(address: Address) -> Ref:
    return _foreign_page(address) or _plain(address)


def _bitbucket(address: Address) -> Ref:
    segments = address.segments
    if segments[2:3] in (("src",), ("raw",)) and len(segments) > 3:
        ref, path = _revision(segments[3:])
        return _file_or_directory(_forge_location(FORGES["bitbucket"], segments[:2]), address, ref, path)
    return _plain(address)


def _published(address: Address) -> Ref:
    """Return what a site publishes: an archive, a document, a marketplace, or an index of skills."""
    segments = address.segments
    last = segments[-1] if segments else ""
    if ".well-known" in segments:
        at = segments.index(".well-known")
        base = address._replace(path="/".join(address.path.split("/")[: at + 1])).place
        name = segments[at + 2] if len(segments) == at + 4 and is_main_file(last) else ""
        return Ref("well-known", base, path=name)
    if last == MARKETPLACE_FILE:
        return Ref("marketplace", address.place, path=_plugin(address.fragment))
    if is_archive(last) or last.lower().endswith(".md"):
        return document(address)
    return Ref("well-known", address.place)


def _plugin(fragment: str) -> str:
    named = pairs(fragment) if fragment else {}
    return words(fragment) if named is None else named.get("path", "")


_PAGES: dict[str, Callable[[Address], Ref]] = {
    "github.com": _github,
    "raw.githubusercontent.com": _raw_github,
    "gist.github.com": _gist,
    "gist.githubusercontent.com": _gist,
    "gitlab.com": _gitlab,
    "codeberg.org": _gitlab,
    "bitbucket.org": _bitbucket,
    "skills.sh": _skills_sh,
    "clawhub.ai": clawhub_page,
}
PAGE_HOSTS = frozenset(_PAGES)
"""Sites that users may name without `https://`."""
