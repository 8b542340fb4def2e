"""What a page costs, counted: nothing is read twice, and nothing grows with the number of views."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from web.site import serve
from whet.skill.rank import Ranking
from whet.web.ui.app import MENU

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from web.site import Site
    from whet.skill.rank import Entry

COUNTED = ("open", "sqlite3.connect", "os.listdir", "os.scandir")
_counts: Counter[str] | None = None
_ours = ""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _counts is not None and event in COUNTED and str(arguments[0]).startswith(_ours):
        _counts[event] += 1


@pytest.fixture(scope="module", autouse=True)
def _hook() -> None:
    sys.addaudithook(_watch)  # it cannot be removed, and counts only while `counted` runs


def counted(top: Path, act: Callable[[], object]) -> Counter[str]:
    """How often files below a directory were opened and listed, and databases opened."""
    global _counts, _ours
    _counts, _ours = Counter(), str(top)
    try:
        act()
    finally:
        found, _counts = _counts, None
    return found


def fill(site: Site, count: int) -> None:
    for number in range(count):
        site.write(f"skill-{number:04}", f"Does thing {number}. Use for thing {number}.", f"Do {number}.\n")


PAGES = [address for address, _ in MENU] + ["/skill?name=charts", "/file?name=charts&file=SKILL.md", "/skills?q=thing"]


LISTING = {"/evals", "/doctor"}
"""Pages that look into the directory of each skill."""


def test_a_view_reads_no_more_with_more_skills(tmp_path: Path, quick: bool) -> None:
    """No page opens more databases when there are many skills, only the doctor's more files, and most list no more."""
    costs: list[dict[str, Counter[str]]] = []
    for count in (20, 100 if quick else 1_200):
        top = tmp_path / str(count)
        top.mkdir()
        with serve(top) as site:
            fill(site, count)
            for path in (*PAGES, *PAGES, *PAGES):  # a file that was just written is read again
                site.get(path)
            costs.append({path: counted(top, partial(site.get, path)) for path in PAGES})
    few, many = costs
    others = [path for path in PAGES if path != "/doctor"]  # it reads what the guard has to know
    assert {path: many[path]["open"] for path in others} == {path: few[path]["open"] for path in others}
    assert all(many[path]["sqlite3.connect"] == 0 for path in PAGES)
    listed = {path: many[path].total() - few[path].total() for path in PAGES if path not in LISTING}
    assert {path: more for path, more in listed.items() if more > 5} == {}


def test_nothing_grows_with_the_views(tmp_path: Path, quick: bool) -> None:
    views = 40 if quick else 1_000
    with serve(tmp_path) as site:
        fill(site, 20 if quick else 1_000)

        def look(times: int) -> int:
            for number in range(times):
                answer = site.get(PAGES[number % len(PAGES)])
                assert answer.status == 200
            gc.collect()
            return len(gc.get_objects())

        look(2 * len(PAGES))
        before = look(views // 2)
        after = look(views)
        assert after - before < 200, f"{views} views left {after - before} objects"


def test_somebody_who_types_has_the_skills_prepared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    prepare = Ranking.__init__

    def note(self: Ranking, entries: Sequence[Entry]) -> None:
        made.append(len(entries))
        prepare(self, entries)

    monkeypatch.setattr(Ranking, "__init__", note)
    with serve(tmp_path) as site:
        while site.library.catalogue is not site.library.catalogue:  # a file that was just written is read again
            pass
        for typed in ("pdf", "pdf-f", "pdf form", "forms"):
            assert [row["name"] for row in site.get("/skills.json", q=typed).json["skills"]][:1] == ["pdf-forms"]
        assert made == [3]
        site.write("form-letters", "Fills letters. Use it for letters.")
        names = [row["name"] for row in site.get("/skills.json", q="letters").json["skills"]]
        assert names == ["form-letters"]
        assert set(made) == {3, 4}
