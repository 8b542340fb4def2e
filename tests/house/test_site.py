"""The documentation as a site: every page is in the menu, every link leads somewhere, and it works from a disk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from web.test_browser import CHROMIUM, CONTRAST, NAMELESS, WIDE, opened, shoot

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "zensical.toml"
ZENSICAL = Path(sys.executable).with_name("zensical")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
LOOKED_AT = ("index", "tutorial", "life", "benchmarks", "howto/ci", "clients/index", "settings")
"""Pages of every kind, which a browser opens; the others are made of the same parts."""


def test_every_page_is_in_the_menu_once() -> None:
    pages = sorted(str(page.relative_to(ROOT / "docs").as_posix()) for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(_pages(tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["nav"])) == pages


def _pages(menu: object) -> list[str]:
    if isinstance(menu, str):
        return [menu]
    entries = menu.values() if isinstance(menu, dict) else menu
    assert not isinstance(entries, str)
    return [page for entry in entries for page in _pages(entry)]  # type: ignore[attr-defined]


class Html(HTMLParser):
    """What a page holds, and what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.wrong: list[str] = []
        self.headings: list[int] = []
        self._open: list[str] = []
        self.feed(text)
        self.wrong += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = dict(attrs)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "img" and not fields.get("alt"):
            self.wrong.append(f"no alt: {fields.get('src')}")
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if name := fields.get("id"):
            self.ids.append(name)
        if tag == "a" and fields.get("href"):
            self.links.append(str(fields["href"]))
        self.loaded += [str(fields[key]) for key in ("src", "srcset", "poster") if fields.get(key)]
        if tag == "link" and fields.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(str(fields["href"]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while (last := self._open.pop()) != tag:
                if last not in ("p", "li", "dt", "dd"):  # their end may be left out
                    self.wrong.append(f"</{tag}> closes <{last}>")
        else:
            self.wrong.append(f"</{tag}> without a start")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not ZENSICAL.exists():
        pytest.skip("needs Zensical: `make site` installs it")
    top = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", top / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CONFIG, top)
    run = subprocess.run([ZENSICAL, "build", "--strict"], cwd=top, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stdout + run.stderr
    return top / "site"


@pytest.mark.deep
def test_every_page_is_sound_and_every_link_leads_somewhere(site: Path) -> None:
    pages = {page: Html(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    assert len(pages) > 60
    assert not list(site.rglob("*.py"))
    wrong = []
    for page, html in pages.items():
        name = page.relative_to(site).as_posix()
        wrong += [f"{name}: {what}" for what in html.wrong]
        wrong += [f"{name}: the id {one} is there {many} times" for one, many in Counter(html.ids).items() if many > 1]
        wrong += [f"{name}: loads {one}" for one in html.loaded if re.match(r"(?:https?:)?//", one)]
        if html.headings.count(1) != 1:
            wrong.append(f"{name}: {html.headings.count(1)} titles")
        if name == "404.html":
            continue  # its links start at the root of a server
        for link in html.links:
            address, mark = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = Path(os.path.normpath(page.parent / unquote(address))) if address else page
            if target not in pages and not target.is_file():
                wrong.append(f"{name}: {link} leads nowhere")
            elif mark and target in pages and unquote(mark) not in pages[target].ids:
                wrong.append(f"{name}: {link} has no such place")
    assert wrong == []


@pytest.mark.deep
@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
@pytest.mark.parametrize("look", ["desk", "phone-dark"])
def test_the_site_works_from_a_disk(site: Path, look: str) -> None:
    """No server, no request elsewhere, nothing on the console: it is readable, and it can be searched."""
    with opened(site.as_uri() + "/", look) as page:
        for name in LOOKED_AT:
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate(CONTRAST) == [], name
            assert page.evaluate(NAMELESS) == [], name
            assert page.evaluate(WIDE) is False, name
            shoot(page, f"site-{name.replace('/', '-')}-{look}")
        page.keyboard.press("/")
        page.get_by_role("combobox", name="Search").fill("sandbox")
        page.get_by_role("option", name="The sandbox").first.click()
        page.wait_for_url("**/sandbox.html*")
