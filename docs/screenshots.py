"""Take the screenshots of `whet ui`: a temporary library, its pages on this machine, and Chromium.

    python docs/screenshots.py                     the pictures of the documentation, in docs/
    python docs/screenshots.py DIR [ADDRESS ...]   every page, or these, in DIR: wide and narrow, light and dark

It needs the development dependencies and Chromium.
"""

from __future__ import annotations

import base64
import os
import queue
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from demo import BROKEN, SESSION, STRANGE, TRIAGE

from whet import Library
from whet.web.server import serve_ui
from whet.web.ui.app import MENU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from playwright.sync_api import Page

DOCS = Path(__file__).parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
_NOW = 1_790_000_000_000_000_000
"""The pictures show the same times whenever they are taken."""
_STEP = 60_000_000_000
DISTILLATION = "0123456789"


class Shot(NamedTuple):
    """One picture."""

    name: str
    address: str
    scheme: str = "light"
    width: int = 1280
    height: int = 0
    """0 is the whole page."""


SHOTS = (
    Shot("ui-skills", "/skills", height=640),
    Shot("ui-skill", "/skill?name=chart-helper", "dark", height=800),
    Shot("ui-updates", "/updates?plan=1&name=triage", height=900),
    Shot("ui-session", "/session?source=claude-code:monday", "dark", height=720),
)
"""The pictures of the documentation."""
PAGES = (
    *(address for address, _ in MENU),
    "/skill?name=chart-helper",
    "/file?name=chart-helper&file=SKILL.md",
    "/edit?name=triage",
    "/history?name=triage",
    "/proposal?number=1",
    "/match?message=review+the+diff",
    "/updates?plan=1",
    "/install?q=tests",
    "/session?source=claude-code:monday",
    "/evals?measure=1",
    "/eval?name=release-notes",
    f"/distill?id={DISTILLATION}",
    f"/distill?id={DISTILLATION}0",
    "/nowhere",
)
LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "phone": ("light", 390), "phone-dark": ("dark", 390)}


def prepare(home: Path) -> Library:
    """A library as somebody has it after a few weeks."""
    project = home / "shop"
    project.mkdir(parents=True)
    files = {
        ".agents/skills/chart-helper/SKILL.md": STRANGE,
        ".claude/skills/release-notes/SKILL.md": BROKEN,
        "shared/triage/SKILL.md": TRIAGE,
    }
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content, encoding="utf-8")
    time = iter(range(_NOW, 2 * _NOW, _STEP))
    env = {"HOME": str(home), "WHET_HOME": str(home / ".whet"), "PATH": os.environ["PATH"]}
    library = Library.open(project=project, env=env, clock=lambda: next(time))
    sources = library.sources
    for name in ("commit-messages", "debugging-systematically", "reviewing-changes", "writing-skills"):
        sources.apply(sources.plan_install(f"gallery:{name}", every=True))
    sources.apply(sources.plan_install(str(home / "shared"), every=True))
    library.edit.patch("triage", find="Give it a label and an owner.", replace="Give it a label, an owner and a date.")
    newer = TRIAGE.replace("Read each new issue.", "Read each new issue, the oldest first.").replace("1.0.0", "1.1.0")
    (home / "shared/triage/SKILL.md").write_text(newer, encoding="utf-8")
    library.session().manage(
        {"action": "patch", "name": "chart-helper", "find": "# Chart helper", "replace": "# Charts"}, stage=True
    )
    for message in ("review this diff", "review the branch"):
        library.invoke(f"/reviewing-changes {message}")
    library.read("commit-messages")
    (home / "monday.md").write_text(SESSION, encoding="utf-8")
    learning, transcript = library.learning, str(home / "monday.md")
    learning.sessions.note(
        "claude-code", "monday", project=str(project), transcript=transcript, prompts=2, tools=9, errors=1, ended=True
    )
    begun = learning.begin_distillation(learning.open_session("claude-code:monday"), model="")
    learning.distillations.keep(begun, DISTILLATION)
    for name in ("commit-messages", "reviewing-changes", "release-notes"):
        learning.generate_triggers(name)
    learning.distillations.keep(begun.answer_all({}), f"{DISTILLATION}0")
    library.settings.disable("writing-skills")
    return library


def take(library: Library, folder: Path, shots: Iterable[Shot], kind: str) -> None:
    """Serve the pages and take the pictures."""
    from playwright.sync_api import sync_playwright

    addresses: queue.Queue[str] = queue.Queue()
    threading.Thread(target=serve_ui, args=(library, 0, addresses.put), daemon=True).start()
    browsers: dict[tuple[str, int], Page] = {}
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for shot in shots:
            page = browsers.get((shot.scheme, shot.width))
            if page is None:
                page = chromium.new_context(color_scheme=shot.scheme).new_page()  # type: ignore[arg-type]
                page.goto(addresses.get(timeout=30))
                browsers[shot.scheme, shot.width] = page
            page.set_viewport_size({"width": shot.width, "height": shot.height or 900})
            page.goto(urljoin(page.url, shot.address))
            (folder / f"{shot.name}.{kind}").write_bytes(_capture(page, shot, kind))
        chromium.close()


def _capture(page: Page, shot: Shot, kind: str) -> bytes:
    """WebP is a third of the size of PNG, and Playwright cannot write it."""
    height = shot.height or page.evaluate("() => document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": shot.width, "height": height, "scale": 1}
    asked = {"format": kind, "captureBeyondViewport": True, "clip": clip}
    answer = page.context.new_cdp_session(page).send("Page.captureScreenshot", asked)
    return base64.b64decode(answer["data"])


def every_page(chosen: Sequence[str]) -> Iterator[Shot]:
    """Every page, or those with these addresses, in every look."""
    for address in chosen or PAGES:
        name = re.sub(r"[^a-z]+", "-", address.partition("=")[0])[1:]
        yield from (Shot(f"{name}-{look}", address, scheme, width) for look, (scheme, width) in LOOKS.items())


def main(given: list[str]) -> int:
    """Take the pictures."""
    if not CHROMIUM:
        sys.stderr.write("Chromium is missing. Install it, for example with `apt install chromium`.\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="whet-pictures-") as scratch:
        home = Path(scratch).resolve() / "home"
        home.mkdir()
        with prepare(home) as library:
            if given:
                folder = Path(given[0])
                folder.mkdir(parents=True, exist_ok=True)
                take(library, folder, every_page(given[1:]), "png")
            else:
                take(library, DOCS, SHOTS, "webp")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
