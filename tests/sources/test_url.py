"""Skills at an address: a main file, an archive, and what is neither."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from sources.loopback import Route, Routes, answer, endless, failure, hang, redirect, serving
from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.roots import Place
from whet.notes import Note, Progress
from whet.skill.archive import pack
from whet.skill.tree import Item, digest, entries
from whet.sources.model import FetchContext, Fetched, Listing, Offer, Ref
from whet.sources.registries.url import UrlSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from sources.loopback import Server

    Opening: TypeAlias = Callable[..., tuple[UrlSource, Server]]

MAIN = b"---\nname: greet\ndescription: Says hello.\nversion: 1.2.0\n---\n\nSay hello.\n"
NAMELESS = b"---\ndescription: Says hello.\n---\n\nSay hello.\n"
PAGE = b"<!DOCTYPE html>\n<html><body>Sign in</body></html>"


@pytest.fixture
def progress() -> list[Progress]:
    return []


@pytest.fixture
def source(progress: list[Progress]) -> Iterator[Opening]:
    """Opens a source of the one route of a new server."""
    with ExitStack() as stack:

        def opened(address: str, routes: Routes, **more: str) -> tuple[UrlSource, Server]:
            server = stack.enter_context(serving(routes))
            web = stack.enter_context(server.web())
            place = Place("/", "/", "/", "linux", {})
            reach = FetchContext(place, web, threading.Event(), progress.append)
            return UrlSource(Ref("url", f"{server.url}{address}", **more), reach), server

        yield opened


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return target.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:  # type: ignore[call-overload]  # the mode is one of a few
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def test_a_main_file_is_the_whole_skill(source: Opening, progress: list[Progress]) -> None:
    opened, server = source("/greet/SKILL.md", {"/greet/SKILL.md": MAIN})
    offer = Offer("greet", "Says hello.", opened.ref, sha256(MAIN), sha256(MAIN), "1.2.0")
    assert opened.inspect() == Listing(opened.ref, sha256(MAIN), (offer,))
    assert opened.fetch([offer]) == (Fetched(offer, {"SKILL.md": Item(MAIN)}),)
    assert len(server.requests) == 1
    assert progress[-1] == Progress(f"{server.url}/greet/SKILL.md", len(MAIN), len(MAIN))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/skills/say-hello/SKILL.md", "say-hello"),
        ("/skills/say-hello.md", "say-hello"),
        ("/skills/say%20hello.md?x=y.z", "say hello"),
        ("/skill.md", "127-0-0-1"),
        ("/", "127-0-0-1"),
        ("/raw/12345", "12345"),
    ],
)
def test_a_skill_without_a_name_is_called_like_its_address(source: Opening, path: str, name: str) -> None:
    opened, _ = source(path, {path.partition("?")[0]: NAMELESS})
    assert [offer.name for offer in opened.inspect().offers] == [name]


@pytest.mark.parametrize(
    "kind",
    ["", "text/markdown; charset=utf-8", "text/plain", "text/x-whatever", "application/octet-stream", "text/html"],
)
def test_what_a_main_file_is_called_does_not_matter(source: Opening, kind: str) -> None:
    opened, _ = source("/greet.md", {"/greet.md": answer(MAIN, content_type=kind) if kind else MAIN})
    assert [offer.name for offer in opened.inspect().offers] == ["greet"]


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/greet.skill", pack("greet", {"SKILL.md": Item(MAIN), "scripts/run.sh": Item(b"echo", executable=True)})),
        ("/download?id=1", pack("greet", {"SKILL.md": Item(MAIN), "scripts/run.sh": Item(b"echo", executable=True)})),
    ],
)
def test_an_archive_is_told_by_its_content(source: Opening, path: str, data: bytes) -> None:
    opened, _ = source(path, {path.partition("?")[0]: answer(data, content_type="text/plain")})
    tree = {"SKILL.md": Item(MAIN), "scripts/run.sh": Item(b"echo", executable=True)}
    offer = Offer("greet", "Says hello.", opened.ref, sha256(data), digest(entries(tree)), "1.2.0")
    assert opened.inspect() == Listing(opened.ref, sha256(data), (offer,))
    assert opened.fetch([offer]) == (Fetched(offer, tree),)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_is_read_too(source: Opening, mode: str) -> None:
    data = tarred({"repo-main/skills/greet/SKILL.md": MAIN, "repo-main/README.md": b"# Repo"}, mode)
    opened, _ = source("/repo", {"/repo": data})
    listing = opened.inspect()
    assert [(offer.name, offer.ref.path) for offer in listing.offers] == [("greet", "skills/greet")]
    assert opened.fetch(listing.offers)[0].tree == {"SKILL.md": Item(MAIN)}


MANY = zipped(
    {
        "skills/greet/SKILL.md": MAIN,
        "skills/greet/__pycache__/x.pyc": b"x",
        "skills/wave/SKILL.md": MAIN.replace(b"greet", b"wave"),
        "README.md": b"# Skills",
    }
)


def test_an_archive_may_hold_several_skills(source: Opening) -> None:
    opened, server = source("/all.zip", {"/all.zip": MANY})
    listing = opened.inspect()
    # A single folder that holds everything does not exist here: the README lies beside it.
    assert [(offer.name, offer.ref) for offer in listing.offers] == [
        ("greet", opened.ref._replace(path="skills/greet")),
        ("wave", opened.ref._replace(path="skills/wave")),
    ]
    wave, greet = opened.fetch(listing.offers[::-1])
    assert (wave.offer.name, greet.offer.name) == ("wave", "greet")
    assert greet.notes == (
        Note(
            "left-out",
            "info",
            "Left out, because they never belong to a skill: 'skills/greet/__pycache__/x.pyc'.",
            skill="greet",
            path="skills/greet/__pycache__/x.pyc",
        ),
    )
    assert len(server.requests) == 1


def test_a_path_names_one_skill_of_an_archive(source: Opening) -> None:
    opened, _ = source("/all.zip", {"/all.zip": MANY}, path="skills/wave")
    assert [offer.name for offer in opened.inspect().offers] == ["wave"]


def test_an_offer_of_a_former_inspection_is_fetched_as_long_as_nothing_changed(source: Opening) -> None:
    first, _ = source("/greet.md", {"/greet.md": MAIN})
    offers = first.inspect().offers
    again = UrlSource(first.ref, first.context)
    assert again.fetch(offers) == first.fetch(offers)


def test_what_changed_since_it_was_listed_is_refused(source: Opening) -> None:
    opened, _ = source("/greet.md", {"/greet.md": [MAIN, MAIN + b"More.\n"]})
    offers = opened.inspect().offers
    opened.close()
    assert failure(lambda: opened.fetch(offers)) == (ConflictError, "source-changed")


def test_a_reference_with_a_hash_gets_those_bytes_or_nothing(source: Opening) -> None:
    opened, _ = source("/greet.md", {"/greet.md": [MAIN, MAIN + b"More.\n"]}, ref=sha256(MAIN))
    assert [offer.revision for offer in opened.inspect().offers] == [sha256(MAIN)]
    assert failure(opened.inspect) == (InvalidError, "digest-mismatch")


def test_a_redirect_does_not_change_the_reference(source: Opening) -> None:
    opened, server = source("/latest/SKILL.md", {"/latest/SKILL.md": redirect("/v2/SKILL.md"), "/v2/SKILL.md": MAIN})
    assert opened.inspect().offers[0].ref == Ref("url", f"{server.url}/latest/SKILL.md")


@pytest.mark.parametrize(
    ("path", "route", "kind", "code"),
    [
        ("/SKILL.md", answer(PAGE, content_type="text/html; charset=utf-8"), InvalidError, "not-a-skill"),
        ("/SKILL.md", answer(b"\xef\xbb\xbf \n" + PAGE), InvalidError, "not-a-skill"),
        ("/SKILL.md", answer(b"Sign in", content_type="text/html"), InvalidError, "not-a-skill"),
        ("/skills.zip", answer(PAGE), InvalidError, "not-a-skill"),
        ("/SKILL.md", answer(b"{}", content_type="application/json"), InvalidError, "not-a-skill"),
        ("/SKILL.md", answer(b"\x89PNG\r\n\x1a\n\0\0"), InvalidError, "not-a-skill"),
        ("/skills.zip", answer(b"not a zip"), InvalidError, "archive-not-readable"),
        ("/skills.zip", answer(b"PK\x03\x04 damaged"), InvalidError, "archive-not-readable"),
        ("/skills.zip", answer(zipped({"../SKILL.md": MAIN})), InvalidError, "archive-unsafe-path"),
        ("/skills.zip", answer(zipped({"README.md": b"x"})), NotFoundError, "no-skills-found"),
        ("/SKILL.md", answer(b"x" * (1024 * 1024 + 1)), InvalidError, "response-too-large"),
        ("/thing", answer(b"x" * (1024 * 1024 + 1)), InvalidError, "archive-too-large"),
        ("/thing", Route(length=str(64 * 1024 * 1024 + 1)), InvalidError, "response-too-large"),
        ("/SKILL.md", endless(), InvalidError, "response-too-large"),
        ("/SKILL.md", answer(b"", 404), NotFoundError, "source-not-found"),
        ("/SKILL.md", redirect("https://127.0.0.1:1/"), RefusedError, "private-address"),
    ],
)
def test_what_is_no_skill_is_refused_by_name(
    source: Opening, path: str, route: Route, kind: type[WhetError], code: str
) -> None:
    opened, _ = source(f"{path}?token=secret", {path: route})
    assert failure(opened.inspect) == (kind, code)


def test_a_page_is_refused_with_a_way_out(source: Opening) -> None:
    opened, server = source("/SKILL.md", {"/SKILL.md": PAGE})
    with pytest.raises(InvalidError) as caught:
        opened.inspect()
    assert caught.value.to_json() == {
        "success": False,
        "error": f"{server.url}/SKILL.md is a web page, not a SKILL.md.",
        "code": "not-a-skill",
        "hint": "Use the address of the raw file, or name the repository instead.",
    }


@pytest.mark.parametrize(
    ("route", "path", "kind", "code"),
    [
        (MAIN, "skills/greet", NotFoundError, "no-skills-found"),
        (MANY, "skills/other", NotFoundError, "no-skills-found"),
        (MANY, "../x", UsageError, "path-traversal"),
    ],
    ids=["beside a main file", "elsewhere in an archive", "outside"],
)
def test_a_path_that_is_not_there_is_refused(
    source: Opening, route: bytes, path: str, kind: type[WhetError], code: str
) -> None:
    opened, _ = source("/thing", {"/thing": route}, path=path)
    assert failure(opened.inspect) == (kind, code)


def test_an_address_in_an_odd_spelling_is_refused() -> None:
    reach = FetchContext(Place("/", "/", "/", "linux", {}), None, threading.Event(), print)  # type: ignore[arg-type]  # not used
    assert failure(lambda: UrlSource(Ref("url", "https://127.1/SKILL.md"), reach)) == (UsageError, "bad-address")


def test_a_cancel_ends_the_download(source: Opening) -> None:
    opened, _ = source("/a", {"/a": hang()})
    opened.context.cancelled.set()
    assert failure(opened.inspect) == (FailedError, "cancelled")
    assert failure(lambda: opened.fetch([])) == (FailedError, "cancelled")
