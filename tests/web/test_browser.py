"""A person at the pages, in a real Chromium: on a desk and on a phone, in the light and in the dark.

Nothing is loaded from elsewhere, nothing is written to the console, and the screenshots can be looked at:
`WHET_SCREENSHOTS=DIR` says where they go.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from web.payloads import PAYLOADS
from web.site import serve
from web.test_pages import install_and_edit, with_session
from whet.web.ui.app import MENU

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from web.site import Site

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
pytestmark = [pytest.mark.deep, pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")]
LOOKS = {
    "desk": (1280, 900, "light"),
    "desk-dark": (1280, 900, "dark"),
    "phone": (390, 844, "light"),
    "phone-dark": (390, 844, "dark"),
}


@contextmanager
def browsing(site: Site, look: str = "desk") -> Iterator[Page]:
    """A page that is signed in."""
    with opened(f"http://{site.host}/", look) as page:
        page.goto(f"http://{site.host}/sign-in?token={site.sign_in.token}")
        yield page


@contextmanager
def opened(start: str, look: str = "desk") -> Iterator[Page]:
    """A page of the site whose addresses start so; at the end, nothing strange may have happened in it."""
    from playwright.sync_api import sync_playwright

    width, height, scheme = LOOKS[look]
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    strange: list[str] = []

    def requested(address: str) -> None:
        if not address.startswith(start):
            strange.append(address)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.on("console", lambda message: strange.append(message.text))
            page.on("pageerror", lambda error: strange.append(str(error)))
            page.on("request", lambda request: requested(request.url))
            yield page
        finally:
            browser.close()
    assert strange == []


def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("WHET_SCREENSHOTS"):
        page.screenshot(path=os.path.join(folder, f"{name}.png"), full_page=True)


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const shares = [0.2126, 0.7152, 0.0722];
  const light = (colour) => shares.reduce((sum, share, i) => sum + share * linear(colour[i] / 255), 0);
  const backdrop = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const box = element.getBoundingClientRect();
    if (!own || !box.width || element.closest(".unseen, .skip, .md-skip, svg, [hidden], dialog")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(backdrop(element))].sort((x, y) => y - x);
    const ratio = ((a + 0.05) / (b + 0.05)).toFixed(2);
    if (ratio < 4.5) bad.push([element.tagName, element.className, ratio, element.textContent.trim().slice(0, 40)]);
  }
  return bad;
}"""
NAMELESS = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href]")]
  .filter((e) => !(e.labels?.length || e.getAttribute("aria-label") || e.title || e.textContent.trim()))
  .map((e) => e.outerHTML)"""
REPEATED_IDS = """() => [...document.querySelectorAll("[id]")].map((e) => e.id)
  .filter((id, at, all) => all.indexOf(id) !== at)"""
WIDE = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def test_every_page_can_be_read(tmp_path: Path) -> None:
    with serve(tmp_path) as site:
        site.library.edit.patch("charts", find="Do it.", replace="Do it well.")
        site.library.session().manage(
            {"action": "patch", "name": "charts", "find": "Do", "replace": "Redo"}, stage=True
        )
        run = site.get("/history.json").json["entries"][0]["run"]
        more = ["/skill?name=charts", "/file?name=charts&file=SKILL.md", "/edit?name=charts", "/proposal?number=1"]
        more += [f"/change?run={run}", "/match?message=draw+a+chart"]
        session = with_session(site)
        more += [f"/session?source={session}", "/eval?name=charts"]
        more.append(site.post("/distill/begin", source=session).headers["location"])
        site.library.learning.generate_triggers("charts")
        more.append("/evals?measure=1")
        install_and_edit(site, "3. Give away.", ("3. Throw away.", "3. Sell."))
        more += ["/updates?plan=1", "/updates?plan=1&prefer=ours"]
        with browsing(site) as page:
            for address in [*(address for address, _ in MENU), *more]:
                page.goto(f"http://{site.host}{address}")
                name = re.sub(r"[^a-z]+", "-", address.split("?")[0])[1:]
                for look, (width, height, scheme) in LOOKS.items():
                    page.set_viewport_size({"width": width, "height": height})
                    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
                    assert page.evaluate(CONTRAST) == [], (address, look)
                    assert page.evaluate(NAMELESS) == [], (address, look)
                    assert page.evaluate(WIDE) is False, (address, look)
                    shoot(page, f"{name}-{look}")
                assert page.locator("h1").count() == 1, address
                assert page.locator("html[lang=en]").count() == 1, address
                assert page.evaluate(REPEATED_IDS) == [], address


@pytest.mark.parametrize("look", LOOKS)
def test_ten_things_that_a_person_does(tmp_path: Path, look: str) -> None:
    with serve(tmp_path) as site, browsing(site, look) as page:
        here = f"http://{site.host}"
        # 1. search while typing, with the keys
        page.keyboard.press("/")
        page.keyboard.type("release")
        page.wait_for_function("() => document.querySelectorAll('table.rows tbody tr').length === 1")
        assert "/skills?q=release" in page.url
        page.locator("main").focus()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/skill?**")
        assert page.locator("h1").inner_text().startswith("backport")
        # 2. show only what is hidden
        page.goto(f"{here}/skills")
        page.locator("#state").select_option("hidden")
        page.get_by_text("No skill fits.").wait_for()
        # 3. edit with validation, save, undo
        page.goto(f"{here}/skill?name=backport")
        page.get_by_role("link", name="Edit").click()
        page.locator("#text").fill("---\nname: backport\ndescription: Backports. Use it.\n---\n# New\n")
        page.locator("#checked .markdown h1").get_by_text("New").wait_for()
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Undo").click()
        page.wait_for_url("**/history")
        assert site.library.read("backport").content == "Do it.\n"
        # 4. go somewhere with the palette
        page.keyboard.press("Control+k")
        page.keyboard.type("chart")
        page.locator("#palette-list a", has_text="charts").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/skill?**")
        # 5. try a message, and correct what comes up
        page.goto(f"{here}/match")
        page.locator("#message").fill("please backport this fix to the release branch")
        page.locator(".decision.must").wait_for()
        page.get_by_role("button", name="Does not fit").first.click()
        page.get_by_text("Noted: this message is not for backport.").wait_for()
        # 6. turn a session into a skill, and take it back
        page.goto(f"{here}/session?source={with_session(site)}")
        page.get_by_role("button", name="Turn it into a skill").click()
        for _ in range(4):
            page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Write it").click()
        page.get_by_text("Created publish-docs-staging-site").wait_for()
        page.keyboard.press("u")
        page.get_by_text("Undone: publish-docs-staging-site").wait_for()
        page.get_by_role("button", name="Close").click()
        assert page.locator(".notice").count() == 0
        # 7. install a skill after a look at its plan, and undo it
        offered = site.home / "more" / "letters" / "SKILL.md"
        offered.parent.mkdir(parents=True)
        offered.write_text("---\nname: letters\ndescription: Writes letters. Use it.\n---\nWrite.\n", encoding="utf-8")
        page.goto(f"{here}/install")
        page.get_by_label("Source").fill(str(offered.parent.parent))
        page.get_by_role("button", name="Show the plan").click()
        page.locator(".verdict-safe").wait_for()
        page.get_by_role("button", name="Install", exact=True).click()
        page.get_by_text("Installed letters.").wait_for()
        page.keyboard.press("u")
        page.get_by_text("Undone:").wait_for()
        assert not (site.home / ".agents" / "skills" / "letters").exists()
        # 8. update a skill that was edited here, and decide the conflict
        install_and_edit(site, "3. Give away.", ("3. Throw away.", "3. Sell."))
        page.goto(f"{here}/updates")
        page.get_by_role("link", name="Show what an update changes").click()
        page.get_by_role("link", name="Take the source's lines").click()
        page.get_by_role("button", name="Update", exact=True).click()
        page.get_by_text("Updated tidy.").wait_for()
        assert site.library.read("tidy").content.endswith("3. Sell.\n")
        # 9. approve what an agent proposes
        proposal = {"action": "patch", "name": "charts", "find": "Do it.", "replace": "Do it well."}
        site.library.session().manage(proposal, stage=True)
        page.goto(f"{here}/proposals")
        page.get_by_role("link", name="1", exact=True).click()
        page.get_by_role("button", name="Approve").click()
        page.wait_for_url("**/proposals")
        assert site.library.read("charts").content == "Do it well.\n"
        # 10. see what changes on disk while looking
        page.goto(f"{here}/skills")
        page.locator("table.rows tbody tr").nth(2).wait_for()
        site.write("brand-new", "Comes from elsewhere. Use it.")
        page.get_by_role("link", name="brand-new").click()
        page.get_by_text("Do it.").wait_for()
        site.write("brand-new", "Comes from elsewhere. Use it.", "Do it otherwise.\n")
        page.get_by_text("Do it otherwise.").wait_for()


def test_nothing_that_a_skill_says_runs(tmp_path: Path) -> None:
    with serve(tmp_path) as site, browsing(site, "phone-dark") as page:
        everything = "\n\n".join(PAYLOADS)
        for number, payload in enumerate(PAYLOADS):
            site.write(f"bad-{number}", payload, f"{payload}\n\n# {payload}\n")
        site.write("bad", "All of them.", everything, **{f"references/{'&'.join('<b>')}.md": everything})
        names = [f"/skill?name=bad-{number}" for number in range(len(PAYLOADS))]
        others = ["/skills", "/prompt", "/doctor", "/usage", "/match?message=bad", "/skill?name=bad", "/edit?name=bad"]
        for address in [*others, *names, "/file?name=bad&file=SKILL.md"]:
            page.goto(f"http://{site.host}{address}")
            assert (
                page.evaluate(
                    "() => document.querySelectorAll('main script, main img, main iframe, main style').length"
                )
                == 0
            )


def test_pages_work_without_javascript(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with serve(tmp_path) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(f"http://{site.host}/sign-in?token={site.sign_in.token}")
        page.locator("#search").fill("release")
        page.get_by_role("button", name="Filter").click()
        assert page.locator("table.rows tbody tr").count() == 1
        page.get_by_role("link", name="backport").click()
        page.get_by_role("link", name="Edit").click()
        page.locator("#text").fill("---\nname: backport\ndescription: Backports. Use it.\n---\n# New\n")
        page.get_by_role("button", name="Check").click()
        assert page.locator("#checked .markdown h1").inner_text() == "New"
        page.get_by_role("button", name="Save").click()
        browser.close()
        assert site.library.read("backport").content == "# New\n"
