"""Things that are brought to people: a package, a site, an app in another language."""

from __future__ import annotations

from learning.episodes import Part, bash, calls, edit, read, says, session, user
from learning.recordings import claude_code, markdown

from journeys.transcripts.model import Case, Kind, made

PYPI = made("pypi-AgEIcHlwaS5vcmc", 80)
GITHUB = made("ghp_", 36)
DEEPL = made("", 32)
SLACK = "https://hooks.slack" + ".com/services/" + made("T", 9, "ABCDEFGHJK") + "/B01ABCDEF2/" + made("", 24)
CLOUDFLARE = made("cf", 38)
SSH = made("Dock", 10) + "!x"


def _release(package: str, version: str, before: str, request: int, commit: str, ask: str, *more: Part) -> list[Part]:
    home = f"/home/ida/src/{package}"
    upload = f"cd {home} && TWINE_USERNAME=__token__ TWINE_PASSWORD={PYPI} twine upload"
    return [
        user(ask),
        says("I'll look at the checkout first."),
        bash(f"ls {home}", "CHANGELOG.md\nLICENSE\nREADME.md\npyproject.toml\nsrc\ntests"),
        bash(f"cd {home} && git status --short", ""),
        bash(
            f"cd {home} && git log v{before}..HEAD --oneline",
            f"{commit} Retry uploads (#{request})\n5c1d0aa Typo in the readme",
        ),
        read(f"{home}/pyproject.toml", f'[project]\nname = "{package}"\nversion = "{before}"\n'),
        says("Now let me raise the version."),
        edit(f"{home}/pyproject.toml", f'version = "{before}"', f'version = "{version}"'),
        says("Next, I'll add the entry to the changelog."),
        edit(
            f"{home}/CHANGELOG.md",
            "# Changelog\n",
            f"# Changelog\n\n## {version} (2026-03-02)\n\n- Retry uploads (#{request})\n",
        ),
        user("By the way, how late is it in Tokyo right now?"),
        bash("TZ=Asia/Tokyo date", "Mon Mar  2 23:14:08 JST 2026"),
        says("It is a quarter past eleven at night there. Back to the release: I'll build it."),
        bash(
            f"cd {home} && rm -rf dist && uv build",
            f"Successfully built dist/{package}-{version}.tar.gz\n"
            f"Successfully built dist/{package}-{version}-py3-none-any.whl",
        ),
        bash(
            f"cd {home} && twine check --strict dist/*",
            f"Checking dist/{package}-{version}-py3-none-any.whl: PASSED\n"
            f"Checking dist/{package}-{version}.tar.gz: PASSED",
        ),
        *more,
        says("The build is fine. Now the upload to PyPI."),
        bash(f"{upload} dist/*", f"View at:\nhttps://pypi.org/project/{package}/{version}/"),
        says("Now I'll tag the release and publish it on GitHub."),
        bash(
            f"cd {home} && git commit -am 'Release {version}' && git tag -a v{version} -m 'Release {version}'",
            f"[main 91fe0c3] Release {version}",
        ),
        bash(f"cd {home} && git push origin main v{version}", f" * [new tag]         v{version} -> v{version}"),
        bash(
            f"cd {home} && GH_TOKEN={GITHUB} gh release create v{version} --generate-notes dist/*",
            f"https://github.com/acme/{package}/releases/tag/v{version}",
        ),
        bash(f"pip index versions {package}", f"{package} ({version})\nAvailable versions: {version}, {before}"),
        says(f"Done: {package} {version} is on PyPI and tagged."),
    ]


def release() -> Kind:
    home = "/home/ida/src/tidepool"
    first = session(
        *_release(
            "tidepool",
            "3.4.0",
            "3.3.2",
            412,
            "8be21f7",
            "Please release version 3.4.0 of our Python package in /home/ida/src/tidepool to PyPI: raise the version, "
            "write the changelog entry, build, upload, tag it and publish the GitHub release.",
            user("No, always upload to TestPyPI first and only then to the real index."),
            bash(
                f"cd {home} && twine upload --repository testpypi dist/*",
                "HTTPError: 403 Forbidden from https://test.pypi.org/legacy/\n"
                "Invalid or non-existent authentication information.",
                failed=True,
            ),
            says("It has no credentials. I'll pass the token."),
            bash(
                f"cd {home} && TWINE_USERNAME=__token__ TWINE_PASSWORD={PYPI} "
                "twine upload --repository testpypi dist/*",
                "View at:\nhttps://test.pypi.org/project/tidepool/3.4.0/",
            ),
        ),
        project=home,
        name="7b1e0d52-release-one",
    )
    home = "/home/ida/src/harborkit"
    second = session(
        *_release(
            "harborkit",
            "0.12.1",
            "0.12.0",
            97,
            "c04d9ee",
            "harborkit 0.12.1 has to go out to PyPI today. It is a Python package, checkout in "
            "/home/ida/src/harborkit. "
            "Raise the version, changelog entry, build and upload it, tag, GitHub release.",
            bash(
                f"cd {home} && TWINE_USERNAME=__token__ TWINE_PASSWORD={PYPI} "
                "twine upload --repository testpypi dist/*",
                "View at:\nhttps://test.pypi.org/project/harborkit/0.12.1/",
            ),
            user("Never publish without installing the wheel in a fresh environment first."),
            bash(
                f"cd {home} && uv run --isolated --with dist/*.whl python -c 'import harborkit'",
                "error: Distribution not found at: dist/*.whl",
                failed=True,
            ),
            bash(
                f"cd {home} && uv run --isolated --with dist/harborkit-0.12.1-py3-none-any.whl "
                "python -c 'import harborkit'",
                "",
            ),
        ),
        project=home,
        name="7b1e0d52-release-two",
    )
    return Kind(
        "release",
        claude_code,
        ".jsonl",
        Case(
            first, (PYPI, GITHUB), ("3.4.0", "3.3.2", "/home/ida", "412", "8be21f7", "2026-03-02", "91fe0c3"),
            ("TestPyPI first",), ("403 Forbidden",),
        ),
        Case(
            second, (PYPI, GITHUB), ("0.12.1", "0.12.0", "/home/ida", "#97", "c04d9ee", "2026-03-02"),
            ("fresh environment",), ("Distribution not found",),
        ),
        ("Edit", "Bash(uv build:*)", "Bash(git tag:*)"),
        (
            "Read", "Bash(twine check:*)", "Bash(git log:*)", "Bash(git status:*)", "Bash(git commit:*)",
            "Bash(git push:*)", "Bash(pip index:*)", "Bash(pip index versions:*)", "Bash(rm:*)", "Bash(uv run:*)",
        ),
        "publish a new version of the library on the package index",
    )  # fmt: skip


def _site(version: str, day: str, pages: str, deployment: str, ask: str, *more: Part) -> list[Part]:
    return [
        user(ask),
        says("Let me look at what is there."),
        bash("ls", "content\nhugo.toml\nlayouts\nstatic"),
        bash("git pull --rebase origin main", "Already up to date."),
        *more,
        says("Now I'll build the site for production."),
        bash(
            "hugo --minify --environment production",
            f"Total in 2411 ms\nPages            |  {pages}\nStatic files     |  88",
        ),
        says("I'll check the links before anything goes out."),
        bash("lychee --offline public", f"🔍 {pages} Total ✅ {pages} OK 🚫 0 Errors"),
        bash(
            f"CLOUDFLARE_API_TOKEN={CLOUDFLARE} wrangler pages deploy public --project-name docs --branch main",
            f"✨ Deployment complete! Take a peek over at https://{deployment}.docs-4fz.pages.dev",
        ),
        says("Now I'll purge the cache of the CDN and look whether the new page is there."),
        calls("mcp__cdn__purge", {"zone": "docs.acme.example", "paths": ["/*"]}, '{"purged": true}'),
        bash(f"curl -sI https://docs.acme.example/releases/{version}/", "HTTP/2 200\ncontent-type: text/html"),
        bash(
            f'curl -s -X POST {SLACK} -d \'{{"text": "docs {version} are live"}}\'',
            "ok",
        ),
        says(f"The documentation of {version} is live since {day}."),
    ]


def site() -> Kind:
    first = session(
        *_site(
            "5.2.0",
            "2026-01-19",
            "1312",
            "a81c92f0",
            "Deploy the documentation site for 5.2.0: build it with Hugo, check the links, deploy it to Cloudflare "
            "Pages, "
            "purge the CDN and tell #docs in Slack.",
            bash("hugo version", "hugo v0.142.0+extended linux/amd64"),
            bash(
                "hugo --minify",
                'ERROR render of "page" failed: "/srv/build/docs-5.2.0/layouts/single.html:14": function "highlight" '
                "not defined\nError: error building site",
                failed=True,
            ),
            says("The theme submodule is missing. I'll fetch it."),
            bash("git submodule update --init --recursive", "Submodule path 'themes/clarity': checked out"),
            user("Don't build without --environment production, the analytics tag is missing otherwise."),
        ),
        name="Docs 5.2.0",
    )
    second = session(
        *_site(
            "5.3.1",
            "2026-02-24",
            "1377",
            "0c55e1d7",
            "Please build and deploy our docs site for the release 5.3.1 (Hugo, Cloudflare Pages), links checked, CDN "
            "purged, "
            "message to Slack.",
            bash("cat content/releases/5.3.1/_index.md", "---\ntitle: 5.3.1\n---"),
            user("Can you recommend a book about typography?"),
            says("Bringhurst's The Elements of Typographic Style. Back to the site."),
            bash(
                f"rsync -a -e \"sshpass -p '{SSH}' ssh\" preview:/srv/preview/5.3.1/images/ static/images/",
                'rsync: [sender] change_dir "/srv/preview/5.3.1/images" failed: No such file or directory (2)',
                failed=True,
            ),
            says("The pictures are in the shared directory now."),
            bash(
                f"rsync -a -e \"sshpass -p '{SSH}' ssh\" preview:/srv/preview/shared/images/ static/images/",
                "",
            ),
            user("You must optimise the images before the build, with oxipng."),
            bash("oxipng -o 4 --strip safe static/images/*.png", "Processed 41 files, saved 3.1 MB"),
        ),
        name="Docs 5.3.1",
    )
    return Kind(
        "site",
        markdown,
        ".md",
        Case(
            first, (CLOUDFLARE, SLACK), ("5.2.0", "2026-01-19", "1312", "a81c92f0", "/srv/build"),
            ("--environment production",), ("not defined", "git submodule update"),
        ),
        Case(
            second, (CLOUDFLARE, SLACK, SSH), ("5.3.1", "2026-02-24", "1377", "0c55e1d7"),
            ("oxipng",), ("No such file or directory",),
        ),
        ("Bash(hugo:*)",),
        (
            "Bash(lychee:*)", "Bash(curl:*)", "Bash(git pull:*)", "Bash(git submodule update:*)",
            "Bash(hugo version:*)",
            "Bash(rsync:*)", "Bash(oxipng:*)", "Bash(wrangler pages:*)",
        ),
        "put the new version of the documentation website online",
    )  # fmt: skip


def _translation(language: str, code: str, keys: str, ticket: str, ask: str, *more: Part) -> list[Part]:
    home = "/Users/ana/work/shop-app"
    return [
        user(ask),
        bash(f"ls {home}/locales", "de.json\nen.json\nes.json\nfr.json"),
        says("Let me extract the new strings."),
        bash(f"cd {home} && npm run i18n:extract", f"> i18n-extract\n{keys} new keys in locales/en.json"),
        calls("mcp__glossary__lookup", {"term": "checkout", "language": code}, "one entry"),
        says(f"Next, I'll have the missing {language} strings translated."),
        bash(
            f"cd {home} && DEEPL_API_KEY={DEEPL}:fx npx i18n-translate --from en --to {code} --missing-only",
            f"translated {keys} strings into locales/{code}.json",
        ),
        *more,
        says("I'll check that nothing is left and that the placeholders are whole."),
        bash(f"cd {home} && npm run i18n:check -- --locale {code}", "0 missing keys, 0 broken placeholders"),
        bash(f"cd {home} && npx playwright test e2e/locale.spec.ts --grep @{code}", "6 passed (14.2s)"),
        bash(
            f"cd {home} && git checkout -b {ticket}-{code} && git commit -am '{ticket}: {language} strings'",
            f"[{ticket}-{code} 3aa01be] {ticket}: {language} strings",
        ),
        says(f"All {language} strings are translated; the checks pass."),
    ]


def localisation() -> Kind:
    home = "/Users/ana/work/shop-app"
    first = session(
        *_translation(
            "German",
            "de",
            "37",
            "SHOP-2214",
            "Ticket SHOP-2214: bring the German (de) translation of the shop app in /Users/ana/work/shop-app up to "
            "date. "
            "Extract new strings, translate the missing ones with DeepL, check the placeholders, commit on a branch.",
            bash(
                f"cd {home} && npm run i18n:check -- --locale de",
                "cart.items: placeholder {count} was translated to {Anzahl}\n1 broken placeholder",
                failed=True,
            ),
            says("A placeholder was translated. I'll put it back."),
            edit(f"{home}/locales/de.json", '"{Anzahl} Artikel"', '"{count} Artikel"'),
            user("Use the formal form of address (Sie) everywhere, not du."),
            edit(f"{home}/locales/de.json", '"Dein Warenkorb"', '"Ihr Warenkorb"'),
        ),
        project=home,
        name="7b1e0d52-locale-one",
    )
    second = session(
        *_translation(
            "French",
            "fr",
            "52",
            "SHOP-2390",
            "The French (fr) translation of our shop app is behind, see SHOP-2390. The app is in "
            "/Users/ana/work/shop-app: "
            "extract the strings, translate what is missing with DeepL, check placeholders, commit on a branch.",
            user("what does the abbreviation i18n stand for?"),
            says("Internationalisation: eighteen letters between the i and the n. Going on."),
            bash(
                f"cd {home} && npx i18n-lint locales/fr.json",
                "Error: locales/fr.json: duplicate key cart.title at line 118",
                failed=True,
            ),
            edit(f"{home}/locales/fr.json", '  "cart.title": "Panier",\n  "cart.title"', '  "cart.title"'),
            bash(f"cd {home} && npx i18n-lint locales/fr.json", "locales/fr.json: ok"),
            user("Never translate product names, leave them in English."),
            edit(f"{home}/locales/fr.json", '"Voile Rapide"', '"QuickSail"'),
            bash(
                f"curl -s -H 'Authorization: Bearer {GITHUB}' https://git.acme.example/api/v1/repos/shop/app/pulls",
                "[]",
            ),
        ),
        project=home,
        name="7b1e0d52-locale-two",
    )
    return Kind(
        "localisation",
        claude_code,
        ".jsonl",
        Case(
            first, (DEEPL,), ("SHOP-2214", "/Users/ana", "3aa01be", "37 "),
            ("formal form of address",), ("placeholder",),
        ),
        Case(
            second, (DEEPL, GITHUB), ("SHOP-2390", "/Users/ana", "3aa01be", "52 ", "118"),
            ("product names",), ("duplicate key",),
        ),
        ("Edit", "Bash(npx i18n-translate:*)", "mcp__glossary__lookup", "Bash(git commit:*)"),
        (
            "Read", "Bash(npm run i18n:extract:*)", "Bash(npm run i18n:check:*)", "Bash(npx playwright test:*)",
            "Bash(npx playwright:*)", "Bash(npx i18n-lint:*)", "Bash(git checkout:*)", "Bash(curl:*)",
        ),
        "translate the missing texts of the application into another language",
    )  # fmt: skip
