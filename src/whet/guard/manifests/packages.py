"""The origins of code: package manifests, package indexes, and the commands that an installation runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.finding import Fact
from whet.guard.hosts import URL, host_of, is_unsafe
from whet.guard.manifests.parsers import commands, table, texts
from whet.guard.tables import shape, words
from whet.guard.taint.sources import judge_index, judge_package, lookalike

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whet.guard.finding import Severity
    from whet.guard.manifests.parsers import Notes

_HOOKS = ("preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare")
_HARMLESS = shape("manifests", "harmless", 0, frame=r"^(?:{})\b")
_FETCHING = shape("manifests", "packages_fetching")
_DECODING = shape("manifests", "decoding")
_INLINE = expression(r"\b(?:node|bun|deno\s{1,9}eval)\s{1,9}(?:-e|--eval|-p)\s")
_FILE = expression(
    r"\b(node|python3?|sh|bash|bun|ruby|perl|tsx|deno run)\s{1,9}"
    r"(?:--?[\w=-]{1,60}\s{1,9}){0,4}([\w./-]{1,200})"
)

_SCRIPT = expression(r"\"((?:pre|post)?install|prepare)\"\s{0,9}:\s{0,9}\"((?:[^\"\\\n]|\\.){1,4000})\"")
"""A hook in a manifest that cannot be parsed."""


def package_json(notes: Notes, data: Any) -> None:
    """Check a package.json of npm."""
    scripts = table(table(data).get("scripts")) if data is not None else dict(_SCRIPT.findall(notes.text))
    scripts = {name: command.replace('\\"', '"') if data is None else command for name, command in scripts.items()}
    for name in _HOOKS:
        if isinstance(command := scripts.get(name), str):
            _install_hook(notes, name, command)
    commands(notes, {"scripts": {name: one for name, one in scripts.items() if name not in _HOOKS}})
    rows = [""] * (notes.text.count("\n") + 1)  # scripts run each other, and leave files for each other
    for command in filter(None, texts(list(scripts.values()))):
        at = notes.line(command) - 1
        rows[at] = f"{rows[at]}; {command}" if rows[at] else command
    if any(">" in row for row in rows):
        notes.commands(rows)
    for section in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        for name, wanted in list(table(table(data).get(section)).items())[:500]:
            if famous := lookalike(name.lower().removeprefix("@types/"), "npm"):
                notes.hit("typosquat-dependency", f'"{name}"', None, name, f"It looks like {famous}")
            if isinstance(wanted, str):
                notes.report(judge_package(wanted), wanted)
    for url in texts(table(table(data).get("publishConfig")).get("registry")):
        notes.report(judge_index(url), url)


def _install_hook(notes: Notes, name: str, command: str) -> None:
    notes.command(command)
    odd = any(map(is_unsafe, URL.findall(command)))
    if _FETCHING.search(command) or _DECODING.search(command):
        hidden = odd or (_DECODING.search(command) is not None and name != "prepare")
        notes.hit("install-hook-hidden" if hidden else "install-hook", command, None, name)
        return
    for part in re.split(r"&&|\|\||;|\|", command):
        if not part.strip() or _HARMLESS.match(part.strip()):
            continue
        if found := _FILE.search(part):
            plain = (
                found[2].endswith((".js", ".mjs", ".cjs", ".ts", ".mts"))
                and "/." not in f"/{found[2].removeprefix('./')}"
            )
            notes.facts.append(
                Fact("execute", "an install hook starts a file", notes.line(command), command[:200], found[2])
            )
            notes.hit("install-hook", command, "info" if plain or name.endswith("prepare") else None, found[2])
        else:
            notes.hit("install-hook", command, None if _INLINE.search(part) and name != "prepare" else "info", name)
        return


_REQUIREMENT = expression(
    r"^\s{0,8}([A-Za-z0-9][A-Za-z0-9._-]{1,80})\s{0,4}(?:\[[^\]\n]{0,80}\])?\s{0,4}(@\s{0,4}\S{1,300})?"
)
_OPTION = expression(
    r"(?:^|\s)(--index-url|-i|--extra-index-url|--find-links|-f|--trusted-host|index-url|extra-index-url"
    r"|find-links|trusted-host)(?:\s{0,4}=\s{0,4}|\s{1,4})(\S{1,300})"
)


def requirements(notes: Notes, _path: str) -> None:
    """Check a requirements file of pip, or its configuration."""
    for row in notes.text.split("\n")[:5000]:
        bare = row.split(" #")[0].strip()
        if not bare or bare.startswith(("#", ";", "[")):
            continue
        options = _OPTION.findall(bare)
        for name, value in options:
            if name.endswith("trusted-host"):
                notes.report(judge_index(value, unchecked=True), bare)
            elif "://" in value:
                notes.report(judge_index(value), bare)
        if not options:
            _requirement(notes, bare)


def _requirement(notes: Notes, bare: str, *, runs: bool = False) -> None:
    if "://" in bare and (url := re.search(r"(?:git\+|hg\+)?(?:https?|ssh|ftp)://\S{1,300}", bare)):
        notes.report(judge_package(url[0], runs=runs), url[0])
        return
    found = _REQUIREMENT.match(bare)
    if found and (famous := lookalike(re.sub(r"[-_.]{1,9}", "-", found[1].lower()), "pypi")):
        notes.hit("typosquat-dependency", bare, None, found[1], f"It looks like {famous}")


def pyproject(notes: Notes, data: Any) -> None:
    """Check a pyproject.toml of Python."""
    project, tool = table(table(data).get("project")), table(table(data).get("tool"))
    groups = [project.get("dependencies"), *table(project.get("optional-dependencies")).values()]
    build = table(table(data).get("build-system"))
    for wanted in [item for group in groups for item in texts(group)][:1000]:
        _requirement(notes, wanted)
    for wanted in texts(build.get("requires"))[:100]:
        _requirement(notes, wanted, runs=True)
    if texts(build.get("backend-path")):
        notes.hit("local-build-hook", "backend-path")
    poetry = table(tool.get("poetry"))
    for name in list(table(poetry.get("dependencies")))[:500]:
        _requirement(notes, name)
    commands(notes, tool)
    for url in _index_urls(table(tool.get("uv")), poetry, table(tool.get("pdm"))):
        notes.report(judge_index(url), url)


def _index_urls(uv: Mapping[str, object], poetry: Mapping[str, object], pdm: Mapping[str, object]) -> Iterator[str]:
    for owner in (uv.get("index"), poetry.get("source"), pdm.get("source")):
        for row in owner if isinstance(owner, list) else []:
            yield from texts(table(row).get("url"))
    for owner in (uv, table(uv.get("pip"))):
        for key in ("index-url", "extra-index-url", "find-links"):
            yield from texts(owner.get(key))
    for source in table(uv.get("sources")).values():
        yield from texts(table(source).get("url"))


_SETTING = expression(
    r"^\s{0,20}[\"']?(?:(?:@[\w.-]{1,60}:)?registry|npmRegistryServer"
    r"|npm_config_registry)[\"']?\s{0,4}[=: ]\s{0,4}[\"']?(\S{1,300}?)[\"']?\s{0,4}$",
    re.MULTILINE,
)
_SOURCE = expression(r"^\s{0,8}source\s{0,4}\(?\s{0,4}[\"'](\S{4,300}?)[\"']", re.MULTILINE)
_REPLACE = expression(
    r"^\s{0,8}(?:replace\s{1,4})?(\S{3,200})(?:\s{1,4}v\S{1,60})?\s{1,4}=>\s{1,4}(\S{3,200})", re.MULTILINE
)


_UNCHECKED = shape("harm", "unchecked")


def registries(notes: Notes, _path: str) -> None:
    """Check .npmrc and .yarnrc."""
    for url in _SETTING.findall(notes.text)[:50]:
        if "://" in url:
            notes.report(judge_index(url, unchecked=_UNCHECKED.search(notes.text) is not None), url)


def gemfile(notes: Notes, _path: str) -> None:
    """Check a Gemfile of Ruby."""
    for url in _SOURCE.findall(notes.text)[:50]:
        if "://" in url:
            notes.report(judge_index(url), url)
    for url in _GIT_GEM.findall(notes.text)[:100]:
        notes.report(judge_package(url), url)


_GIT_GEM = expression(
    r"^\s{0,8}gem\s[^\n]{0,200}?\b(?:git|source)\s{0,4}(?:=>|:)\s{0,4}[\"'](\S{4,300}?)[\"']", re.MULTILINE
)


def go_mod(notes: Notes, _path: str) -> None:
    """Check a go.mod of Go for modules that are replaced by others."""
    for name, other in _REPLACE.findall(notes.text)[:100]:
        if other.startswith((".", "/")) or other.split("/")[0] == name.split("/")[0]:
            continue
        notes.report(judge_package(f"https://{other}"), other)


def cargo(notes: Notes, data: Any) -> None:
    """Check the manifest and configuration of Cargo."""
    values = table(data)
    for registry in (*table(values.get("registries")).values(), *table(values.get("source")).values()):
        for url in (*texts(table(registry).get("index")), *texts(table(registry).get("registry"))):
            notes.report(judge_index(url), url)
    for section in ("dependencies", "dev-dependencies", "build-dependencies"):
        for wanted in list(table(values.get(section)).values())[:500]:
            for url in texts(table(wanted).get("git")):
                notes.report(judge_package(url), url)
    for key in ("rustc-wrapper", "rustc", "runner"):
        if texts(table(values.get("build")).get(key)):
            notes.hit("local-build-hook", key)


_INSTALL = expression(
    r"[bnpuy](?<!\w.)(?:(?:(?<=p)(ip[23]?|ipx)|(?<=u)(v))|(?<=n)pm|(?<=p)npm|(?<=y)arn|(?<=b)un)[ \t]{1,4}(?:pip[ \t]{1,4})?"
    r"(?:install|add|i)[ \t]([^\n`|;&<>()\"]{3,400})"
)
_SPECIFIED = expression(r"(?<=.)[@=<>~!\[].{0,100}$")
_NAMED = expression(r"`([a-zA-Z][\w.-]{3,39})`")
_KINDS = ("pypi", "npm", "crates", "cran")
_SPOKEN = shape("manifests", "naming_typos", frame=r"\b(?:{})\b")
_TO_INSTALL = shape("manifests", "named_to_install", frame=r"\b(?:{})\b")
_OWNED = expression(
    r"\bdocker\.io/([\w-]{4,40})/\w|\buses:[ \t]{0,4}([\w-]{4,40})/\w|--install-extension[ =]\"?([\w-]{4,40})\.\w"
)
_EXTENSIONS = ('"extensions"', '"recommendations"')
_EXTENSION = expression(r"\"([a-zA-Z][\w-]{3,39})\.[a-zA-Z][\w-]{1,60}\"")
_INDEX = shape("manifests", "index_settings", frame=r"(?:{})(https?\\?://[^\s`\"'<>)\]]{4,200})")


def owners(notes: Notes) -> None:
    """Check the owners of actions, images and extensions of editors for misspelled names of well-known ones."""
    extensions = _EXTENSION.finditer(notes.text) if any(map(notes.text.__contains__, _EXTENSIONS)) else ()
    for owned in (*_OWNED.finditer(notes.text), *extensions):
        owner = next(filter(None, owned.groups())).lower()
        if known := lookalike(owner, "owners"):
            notes.hit("typosquat-dependency", owned[0], "critical", owner, f"{owner} looks like {known}")


def installs(notes: Notes) -> None:
    """Check install commands and settings: misspelled names of well-known packages, and addresses of indexes."""
    _commands(notes)
    if "`" in notes.text:
        _named(notes)
    for row in notes.text.splitlines() if "://" in notes.text else ():
        found = _INDEX.search(row) if "://" in row else None
        if found and host_of(url := found[1].replace("\\", "")).kind != "known":
            notes.report(judge_index(url), found[0])


def _named(notes: Notes) -> None:
    """Check the names of packages that a sentence says to install."""
    for row in notes.text.splitlines():
        if "`" not in row or not _TO_INSTALL.search(row):
            continue
        names = dict.fromkeys(found[1].lower().replace("_", "-") for found in _NAMED.finditer(row))
        unknown = [name for name in names if not any(name in words("package_names", kind) for kind in _KINDS)]
        like = {name: known for name in unknown for kind in _KINDS if (known := lookalike(name, kind))}
        if not like or _SPOKEN.search(row) or not names.keys().isdisjoint(like.values()):
            continue  # the sentence compares the names
        name, known = next(iter(like.items()))
        severity: Severity | None = "critical" if len(like) > 1 else None
        notes.hit("typosquat-dependency", row.strip(), severity, name, f"{name} looks like {known}")


def _commands(notes: Notes) -> None:
    """Check install commands. Two misspelled names in one command are hardly typos."""
    for found in _INSTALL.finditer(notes.text) if "install" in notes.text or " add " in notes.text else ():
        named = [_SPECIFIED.sub("", word.strip("',.:")).lower() for word in found[3].split() if word[0] != "-"]
        kind = "pypi" if found[1] or found[2] else "npm"
        pairs = [(word, known) for word in dict.fromkeys(named) if (known := lookalike(word, kind))]
        for word, known in pairs[:1]:
            severity: Severity | None = "critical" if len(pairs) > 1 else None
            notes.hit("typosquat-dependency", found[0], severity, word, f"{word} looks like {known}")


def setup_cfg(notes: Notes, _path: str) -> None:
    """Check the links and indexes in the configuration of setuptools."""
    for row in notes.text.split("\n")[:2000]:
        if re.match(r"\s{0,8}(?:index[-_]url|find[-_]links|dependency[-_]links)\s{0,4}=", row):
            for url in URL.findall(row):
                notes.report(judge_index(url), url)
