"""One query, many sources: what fits best, who is trusted, what is remembered, and who did not answer."""

from __future__ import annotations

import threading
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import FailedError, NotFoundError, UsageError, WhetError
from whet.library.roots import Place
from whet.sources import search as kept
from whet.sources.model import FetchContext, Listing, Offer, Ref, open_source
from whet.sources.refs.parse import ref_text, ref_trust
from whet.sources.search import (
    Finder,
    Kept,
    Listings,
    Resolved,
    SearchResult,
    _hits,
    _Look,
    resolve,
    search,
    split_name,
)
from whet.sources.web.client import Web
from whet.store.cache import CacheDatabase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from whet.sources.model import Fetched

VENDOR = Ref("git", "https://github.com/anthropics/skills")
ACME = Ref("git", "https://github.com/acme/skills")
CLAW = Ref("clawhub", "https://clawhub.ai")
HOUR = 3600 * 1_000_000_000

LOCALLY = "`whet find` searches the skills you have."


def offer(name: str, description: str = "", ref: Ref = ACME, **more: object) -> Offer:
    """A skill of a source, in a directory of its name."""
    inner = f"acme/{name}" if ref.kind == "clawhub" else f"skills/{name}"
    return Offer(name, description, ref._replace(path=inner), "r1", **more)  # type: ignore[arg-type]  # fields of an offer


class Shop:
    """Sources that lie nowhere, and how often they were asked."""

    def __init__(self, state: Path, **stock: list[Offer] | WhetError) -> None:
        self.stock = stock
        self.asked: list[str] = []
        self.closed = 0
        self.now = 10 * HOUR
        place = Place(str(state), str(state), str(state / "state"), "linux", {})
        self.cache = CacheDatabase(place.state)
        self.reach = FetchContext(place, Web(env={}), threading.Event(), lambda _: None)

    def search(self, query: str, limit: int = 20, offline: bool = False) -> SearchResult:
        """A search over all of them."""
        refs = {"vendor": VENDOR, "acme": ACME, "clawhub": CLAW}
        sources = [(name, refs[name]) for name in self.stock]
        names = {ref: name for name, ref in refs.items()}
        return search(self.finder(names), sources, query, limit, offline=offline)

    def resolve(self, text: str, *own: str) -> Resolved:
        """What a bare name means in all of them."""
        refs = {"vendor": VENDOR, "acme": ACME, "clawhub": CLAW}
        names = {ref: name for name, ref in refs.items()}
        return resolve(self.finder(names), text, [(name, refs[name]) for name in self.stock], own)

    def finder(self, names: Mapping[Ref, str]) -> Finder:
        """What a search takes."""
        return Finder(self.reach, lambda ref, _: Stall(self, names[ref], ref), ref_trust, self.cache, lambda: self.now)


class Stall:
    """One of the sources of a shop."""

    def __init__(self, shop: Shop, name: str, ref: Ref) -> None:
        self.shop, self.name, self.ref = shop, name, ref

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """Everything."""
        assert not names
        return Listing(self.ref, "r1", self._offers())

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """Everything, as a registry that knows better than words."""
        assert query
        return self._offers()[:limit]

    def find(self, name: str) -> tuple[Offer, ...]:
        """Those of the name."""
        return tuple(offer for offer in self._offers() if offer.name == name)

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Nothing is fetched by a search."""
        raise AssertionError(offers)

    def close(self) -> None:
        """Counted."""
        self.shop.closed += 1

    def _offers(self) -> tuple[Offer, ...]:
        self.shop.asked.append(self.name)
        stock = self.shop.stock[self.name]
        if isinstance(stock, WhetError):
            raise stock
        return tuple(stock)


DOWN = FailedError("unreachable", "The host did not answer.", hint="Check the network.")

# Ranking


def rank(offers: Iterable[Offer], query: str, limit: int) -> tuple[Offer, ...]:
    """What fits a query, best first, of one source."""
    return tuple(hit.offer for hit in _hits([_Look("acme", ACME, tuple(offers))], query, ref_trust)[:limit])


STOCK = [
    offer("pdf", "Reads and fills PDF files."),
    offer("pdf-forms", "Fills forms."),
    offer("forms", "Designs web forms for pdf output."),
    offer("merge-pdf", "Puts documents together."),
    offer("docx", "Word documents, tables and forms.", group="office"),
    offer("xlsx", "Spreadsheets.", group="office"),
    offer("brand", "The house's colours."),
    offer("secret-pdf", "Not for everybody.", hidden=True),
    offer("翻訳", "日本語の文書を翻訳する。"),
]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("pdf", ["pdf", "pdf-forms", "merge-pdf", "forms"]),
        ("PDF", ["pdf", "pdf-forms", "merge-pdf", "forms"]),
        ("pdf forms", ["pdf-forms", "forms", "pdf", "merge-pdf", "docx"]),
        ("forms pdf", ["pdf-forms", "forms", "pdf", "merge-pdf", "docx"]),
        ("pdf_forms", ["pdf-forms", "forms", "pdf", "merge-pdf", "docx"]),
        ("form", ["forms", "pdf-forms", "docx"]),
        ("office", ["docx", "xlsx"]),
        ("a skill for spreadsheets", ["xlsx"]),
        ("document", ["docx", "merge-pdf"]),
        ("brnad", ["brand"]),
        ("secret-pdf", ["secret-pdf", "pdf", "merge-pdf", "pdf-forms", "forms"]),
        ("secret", []),
        ("翻訳", ["翻訳"]),
        ("文書", ["翻訳"]),
        ("nothing of the kind", []),
        ("?!", []),
        ("", ["brand", "docx", "forms", "merge-pdf", "pdf", "pdf-forms", "xlsx", "翻訳"]),
    ],
)
def test_what_fits_best_comes_first(query: str, names: list[str]) -> None:
    assert [found.name for found in rank(STOCK, query, 20)] == names
    assert [found.name for found in rank(reversed(STOCK), query, 3)] == names[:3]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    stock = [offer(f"s{number}", "Creates things.") for number in range(9)] + [offer("z", "Writes invoices.")]
    assert rank(stock, "create invoice", 1) == (stock[-1],)


def test_same_names_are_ordered_by_their_place() -> None:
    other = offer("pdf", ref=ACME._replace(location="https://github.com/zoo/skills"))
    assert rank([other, STOCK[0]], "pdf", 9) == (STOCK[0], other)


@pytest.mark.parametrize("limit", [0, -1])
def test_no_results_cannot_be_asked_for(tmp_path: Path, limit: int) -> None:
    with pytest.raises(UsageError, match="must be at least 1") as raised:
        Shop(tmp_path, acme=STOCK).search("pdf", limit)
    assert raised.value.code == "bad-limit"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=80)), max_size=8))
def test_any_query_and_any_stock_give_some_of_it_once(query: str, stock: list[tuple[str, str]]) -> None:
    offers = [Offer(name, text, ACME._replace(path=f"p{at}"), "r") for at, (name, text) in enumerate(stock)]
    found = rank(offers, query, 5)
    assert len(set(found)) == len(found) <= 5
    assert set(found) <= set(offers)
    assert rank(offers, query, 5) == found


# Searching


def test_all_sources_are_searched_and_the_trusted_comes_first(tmp_path: Path) -> None:
    mine, theirs = offer("pdf", "Also PDF."), offer("pdf", "PDF.", VENDOR, version="1.0", group="office")
    claw = offer("papers", "Something else.", CLAW)
    shop = Shop(tmp_path, acme=[mine], vendor=[theirs], clawhub=[claw])
    found = shop.search("pdf")
    assert found.to_json() == {
        "success": True,
        "query": "pdf",
        "skills": [
            {
                "name": "pdf",
                "description": "PDF.",
                "version": "1.0",
                "group": "office",
                "tap": "vendor",
                "trust": "trusted",
                "install": "vendor:pdf",
                "source": "git:https://github.com/anthropics/skills#path=skills/pdf",
            },
            {
                "name": "pdf",
                "description": "Also PDF.",
                "version": "",
                "group": "",
                "tap": "acme",
                "trust": "community",
                "install": "acme:pdf",
                "source": "git:https://github.com/acme/skills#path=skills/pdf",
            },
            {
                "name": "papers",
                "description": "Something else.",
                "version": "",
                "group": "",
                "tap": "clawhub",
                "trust": "community",
                "install": "clawhub:acme/papers",
                "source": "clawhub:https://clawhub.ai#path=acme/papers",
            },
        ],
        "count": 3,
        "asked": 3,
        "notes": [],
    }
    assert (sorted(shop.asked), shop.closed) == (["acme", "clawhub", "vendor"], 3)
    assert shop.search("pdf", 1).skills == found.skills[:1]


def test_a_skill_that_two_taps_have_is_found_once(tmp_path: Path) -> None:
    one = offer("pdf")
    shop = Shop(tmp_path, acme=[one], vendor=[one])
    assert [(hit.tap, hit.offer) for hit in shop.search("pdf").skills] == [("acme", one)]


def test_a_name_that_a_tap_has_twice_is_not_enough_to_install(tmp_path: Path) -> None:
    twice = [offer("pdf"), offer("pdf")._replace(ref=ACME._replace(path="old/pdf")), offer("Odd Name", "pdf")]
    installs = [hit.install for hit in Shop(tmp_path, acme=twice).search("pdf").skills]
    assert installs == ["acme/skills/old/pdf", "acme/skills/skills/pdf", f"git:{ACME.location}#path=skills/Odd%20Name"]


def test_one_source_that_fails_fails_nobody_else(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=DOWN, vendor=[offer("pdf", ref=VENDOR)])
    found = shop.search("pdf")
    assert ([hit.tap for hit in found.skills], found.asked, shop.closed) == (["vendor"], 1, 2)
    assert [note.to_json() for note in found.notes] == [
        {
            "code": "unreachable",
            "severity": "warning",
            "skill": "",
            "path": "acme/skills",
            "message": "acme did not answer: The host did not answer.",
            "hint": "Check the network.",
            "line": None,
        }
    ]


def test_when_all_fail_the_search_does(tmp_path: Path) -> None:
    gone = NotFoundError("source-not-found", "There is no such place.")
    with pytest.raises(FailedError) as raised:
        Shop(tmp_path, acme=DOWN, vendor=gone).search("pdf")
    assert (raised.value.code, raised.value.hint) == ("no-source-answered", f"Check the network. {LOCALLY}")
    assert raised.value.message == "None of 2 sources answered. acme did not answer: The host did not answer."
    assert [note["code"] for note in raised.value.details["notes"]] == ["unreachable", "source-not-found"]


def test_no_sources_give_nothing(tmp_path: Path) -> None:
    assert Shop(tmp_path).search("pdf") == SearchResult("pdf", (), (), 0)


def test_a_cancelled_search_ends(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK, vendor=STOCK)
    shop.reach.cancelled.set()
    with pytest.raises(FailedError) as raised:
        shop.search("pdf")
    assert (raised.value.code, shop.asked) == ("cancelled", [])


def test_a_source_that_is_cancelled_ends_the_search(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=FailedError("cancelled", "Cancelled."), vendor=STOCK)
    with pytest.raises(FailedError) as raised:
        shop.search("pdf")
    assert raised.value.code == "cancelled"


# Remembering


def test_nothing_is_asked_twice_within_an_hour(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK, clawhub=[offer("pdf", ref=CLAW)])
    first = shop.search("pdf")
    shop.now += HOUR - 1
    assert shop.search("pdf") == first
    assert sorted(shop.asked) == ["acme", "clawhub"]
    shop.search("forms")  # a listing serves every query, a registry is asked again
    assert sorted(shop.asked) == ["acme", "clawhub", "clawhub"]
    shop.now += 1
    shop.search("pdf")
    assert sorted(shop.asked) == ["acme", "acme", "clawhub", "clawhub", "clawhub"]


def test_an_answer_from_the_future_is_asked_for_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK)
    shop.search("pdf")
    shop.now -= 1
    shop.search("pdf")
    assert shop.asked == ["acme", "acme"]


def test_offline_only_what_is_remembered_is_searched(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK)
    online = shop.search("pdf")
    shop.now += 100 * HOUR
    shop.stock["vendor"] = [offer("pdf", ref=VENDOR)]
    found = shop.search("pdf", offline=True)
    assert (found.skills, found.asked, shop.asked) == (online.skills, 1, ["acme"])
    assert [(note.code, note.message) for note in found.notes] == [
        ("listing-not-kept", "vendor is not cached, and `--offline` asks no server.")
    ]


def test_offline_with_nothing_remembered_is_said(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK)
    with pytest.raises(FailedError) as raised:
        shop.search("pdf", offline=True)
    assert (raised.value.code, raised.value.hint, shop.asked) == (
        "no-source-answered",
        f"Search without --offline. {LOCALLY}",
        [],
    )


def test_a_source_that_fails_is_answered_for_from_memory(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK)
    first = shop.search("pdf")
    shop.now += 2 * HOUR
    shop.stock["acme"] = DOWN
    found = shop.search("pdf")
    message = "acme did not answer: The host did not answer. Showing the results from 1970-01-01T10:00:00Z."
    assert (found.skills, [(note.code, note.message) for note in found.notes]) == (
        first.skills,
        [("listing-old", message)],
    )


def test_a_directory_is_always_looked_at(tmp_path: Path) -> None:
    skill = tmp_path / "skills/pdf"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDF files.\n---\n")
    shop = Shop(tmp_path)
    here = [("here", Ref("path", str(tmp_path / "skills")))]

    def names() -> list[str]:
        found = search(Finder(shop.reach, open_source, ref_trust, shop.cache), here, "reads", 9, offline=True)
        return [hit.install for hit in found.skills]

    assert names() == ["here:pdf"]
    (skill / "SKILL.md").write_text("---\nname: paper\ndescription: Reads paper.\n---\n")
    assert names() == ["here:paper"]
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"format": 9}',
        b'{"format": 1, "key": "other"}',
        b'{"format": 1, "key": "KEY", "time": "x", "offers": []}',
        b'{"format": 1, "key": "KEY", "time": NOW, "offers": [["a"]]}',
        b'{"format": 1, "key": "KEY", "time": NOW, "offers": [[1, "", null, "", "", "", "", "", false, "a/b"]]}',
        b'{"format": 1, "key": "KEY", "time": NOW, "offers": [["n", "", null, "", "", "", "", "", false, "?"]]}',
        b'{"format": 1, "key": "KEY", "time": NOW, "offers": [["n", "", null, "", "", "", "", "", 3, "a/b"]]}',
    ],
    ids=lambda damage: repr(damage[:90]),
)
def test_a_damaged_memory_is_replaced(tmp_path: Path, damage: bytes) -> None:
    shop = Shop(tmp_path, acme=STOCK)
    first = shop.search("pdf")
    cache = shop.cache.open()
    ((sound,),) = cache.read("SELECT document FROM listings")
    damaged = damage.replace(b"KEY", ref_text(ACME).encode()).replace(b"NOW", b"%d" % shop.now)
    with cache.write() as connection:
        connection.execute("UPDATE listings SET document = ?", (damaged,))
    assert (shop.search("pdf"), shop.asked) == (first, ["acme", "acme"])
    assert cache.read("SELECT document FROM listings") == [(sound,)]


def test_what_cannot_be_remembered_is_still_an_answer(tmp_path: Path) -> None:
    shop = Shop(tmp_path, acme=STOCK)
    rmtree(tmp_path / "state", ignore_errors=True)
    (tmp_path / "state").write_text("in the way")
    found = shop.search("pdf")
    assert (len(found.skills), found.asked, [note.code for note in found.notes]) == (4, 1, ["listing-not-saved"])


def listings_in(directory: Path, now: int = 10 * HOUR) -> Listings:
    """The cache of a new person."""
    database = CacheDatabase(str(directory))
    return Listings(database, Place("/w", "/h", str(directory), "linux", {}), lambda: now)


def sizes(directory: Path) -> list[int]:
    database = CacheDatabase(str(directory))
    return [size for (size,) in database.open().read("SELECT length(document) FROM listings")]


def test_offers_are_remembered_whole(tmp_path: Path) -> None:
    whole = Offer("näme", "text \u2028 \ud800", ACME._replace(path="a b"), "r", "m", "1", "d", "g", True)
    listings = listings_in(tmp_path)
    assert listings.keep("key", "r", [whole, *STOCK])
    found = listings_in(tmp_path, 12 * HOUR).find("key")
    assert found == Kept((whole, *STOCK), 10 * HOUR, False)
    assert listings.find("other") is None


def test_the_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_COUNT", 3)
    monkeypatch.setattr(kept, "MAX_BYTES", 4000)
    monkeypatch.setattr(kept, "MAX_TOTAL_BYTES", 8000)
    listings = listings_in(tmp_path)
    for number in range(6):
        assert listings.keep(f"key{number}", "r", [offer("a")])
    assert len(sizes(tmp_path)) == 3
    assert listings.find("key5") is not None
    assert not listings.keep("huge", "r", [offer("a", "x" * 5000)])
    for number in range(6):
        listings.keep(f"large{number}", "r", [offer("a", "x" * 3500)])
    assert sum(sizes(tmp_path)) <= 8000
    assert listings.find("large5") is not None


# Names


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pdf", ("pdf", "")),
        (" PDF_2 ", ("PDF_2", "")),
        ("pdf@1.2", ("pdf", "1.2")),
        ("pdf@^1.2||>=3,<4", ("pdf", "^1.2||>=3,<4")),
        ("pdf@1.x", ("pdf", "1.x")),
        ("pdf@main", None),
        ("pdf@", None),
        ("pdf@^1 <2", None),
        ("a/b", None),
        ("a:b", None),
        ("-x", None),
        ("x-", None),
        ("pdf.zip", None),
        ("p\u0434f", None),
        ("x" * 65, None),
        ("", None),
    ],
)
def test_what_is_a_bare_name(text: str, meant: tuple[str, str] | None) -> None:
    assert split_name(text) == meant


def test_a_name_means_the_one_skill_of_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path, vendor=[offer("pdf", ref=VENDOR)], acme=[offer("docx")], clawhub=[offer("song", ref=CLAW)])
    assert shop.resolve("pdf@^1") == Resolved(VENDOR._replace(ref="^1"), "skills/pdf", ())
    assert shop.resolve("Docx") == Resolved(ACME, "skills/docx", ())
    assert shop.resolve("song") == Resolved(CLAW._replace(path="acme/song"), "", ())
    with pytest.raises(NotFoundError) as raised:
        shop.resolve("docs")
    assert (raised.value.code, raised.value.hint) == ("name-not-found", "Did you mean acme:docx?")


def test_a_name_that_is_not_remembered_is_asked_for_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path, vendor=[offer("pdf", ref=VENDOR)])
    assert shop.resolve("pdf").source == VENDOR
    assert shop.resolve("pdf").source == VENDOR
    assert shop.asked == ["vendor"]
    shop.stock["vendor"] = [offer("new", ref=VENDOR)]
    assert shop.resolve("new").path == "skills/new"
    assert shop.asked == ["vendor"] * 2


@pytest.mark.parametrize(
    ("found", "own", "meant"),
    [
        ("vendor", (), VENDOR),  # trusted: who else may have it does not matter
        ("vendor", ("acme",), None),  # but a source that the user added does
        ("clawhub", (), None),  # a stranger's: anybody else may be meant
        ("clawhub", ("acme",), None),
        ("clawhub", ("clawhub",), CLAW._replace(path="acme/pdf")),
    ],
)
def test_a_source_that_does_not_answer_may_be_meant(
    tmp_path: Path, found: str, own: tuple[str, ...], meant: Ref | None
) -> None:
    refs = {"vendor": VENDOR, "clawhub": CLAW}
    stock: dict[str, list[Offer] | WhetError] = {found: [offer("pdf", ref=refs[found])], "acme": DOWN}
    shop = Shop(tmp_path, **stock)
    if meant:
        assert shop.resolve("pdf", *own).source == meant
        return
    with pytest.raises(FailedError) as raised:
        shop.resolve("pdf", *own)
    assert raised.value.code == "source-silent"


def test_a_name_that_is_nearly_that_of_a_trusted_skill_is_said(tmp_path: Path) -> None:
    vendor = [offer("review", ref=VENDOR), offer("pdf", ref=VENDOR)]
    shop = Shop(tmp_path, vendor=vendor, clawhub=[offer("reviev", ref=CLAW), offer("song", ref=CLAW)])
    assert [note.code for note in shop.resolve("reviev").notes] == ["lookalike-name"]
    assert (shop.resolve("song").notes, shop.resolve("review").notes) == ((), ())
