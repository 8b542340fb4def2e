"""Skills from real repositories, over file addresses and smart HTTP on this machine."""

from __future__ import annotations

import os
import stat
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from sources.reaching import find
from sources.repositories import Content, Linked, Module, Repository, Script, Served, World, serving_git, skill
from whet.errors import AmbiguousError, InvalidError, NotFoundError, WhetError
from whet.skill.tree import Item
from whet.sources.git.remote import Remote
from whet.sources.git.source import _by_prefix
from whet.sources.model import Listing, Ref

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES: dict[str, Content] = {
    "README.md": "# Skills",
    "skills/pdf/SKILL.md": skill("pdf", "Reads PDF files."),
    "skills/pdf/references/forms.md": "forms",
    "skills/pdf/scripts/fill.py": Script(b"print(1)\n"),
    "skills/docx/SKILL.md": skill("docx", "Reads Word files."),
    "skills/odd/SKILL.md": skill("calls-itself-so"),
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.new(tmp_path / "repository")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving_git(tmp_path) as served:
        yield served


def names(listing: Listing) -> list[str]:
    return [offer.name for offer in listing.offers]


def error_of(world: World, location: str, ref: str = "", path: str = "") -> WhetError:
    before = world.left()
    source = world.source(location, ref, path)
    with pytest.raises(WhetError) as caught:
        source.inspect()
    assert world.left() == before
    return caught.value


def test_every_skill_of_a_repository_is_offered_at_its_commit(repository: Repository, world: World) -> None:
    commit = repository.commit(FILES)
    source = world.source(repository.url)
    listing = source.inspect()
    assert (listing.ref, listing.revision, listing.notes) == (source.ref, commit, ())
    assert [(offer.name, offer.description, offer.ref.path) for offer in listing.offers] == [
        ("docx", "Reads Word files.", "skills/docx"),
        ("calls-itself-so", "Does one thing.", "skills/odd"),
        ("pdf", "Reads PDF files.", "skills/pdf"),
    ]
    pdf = listing.offers[2]
    assert pdf.ref == Ref("git", repository.url, "", "skills/pdf")
    assert (pdf.revision, pdf.marker) == (commit, repository.git("rev-parse", f"{commit}:skills/pdf"))
    source.close()
    assert world.left() == []


def test_a_package_has_the_bytes_and_modes_of_the_commit(repository: Repository, world: World) -> None:
    repository.commit(FILES)
    source = world.source(repository.url)
    offers = {offer.name: offer for offer in source.inspect().offers}
    fetched = source.fetch([offers["pdf"], offers["docx"]])
    assert [(item.offer.name, item.tree, item.notes) for item in fetched] == [
        (
            "pdf",
            {
                "SKILL.md": Item(str(FILES["skills/pdf/SKILL.md"]).encode()),
                "references/forms.md": Item(b"forms"),
                "scripts/fill.py": Item(b"print(1)\n", executable=True),
            },
            (),
        ),
        ("docx", {"SKILL.md": Item(str(FILES["skills/docx/SKILL.md"]).encode())}, ()),
    ]


def test_a_repository_that_is_one_skill(repository: Repository, world: World) -> None:
    commit = repository.commit({"SKILL.md": "No frontmatter.", "references/a.md": "a", ".DS_Store": "x"})
    source = world.source(repository.url)
    listing = source.inspect()
    offer = listing.offers[0]
    assert (offer.name, offer.ref.path, offer.marker) == (
        "repository",
        "",
        repository.git("rev-parse", f"{commit}^{{tree}}"),
    )
    fetched = source.fetch(listing.offers)[0]
    assert sorted(fetched.tree) == ["SKILL.md", "references/a.md"]
    assert [(note.code, note.path) for note in fetched.notes] == [("left-out", ".DS_Store")]


def test_the_place_of_a_fetch_is_private(repository: Repository, world: World) -> None:
    repository.commit(FILES)
    source = world.source(repository.url)
    source.inspect()
    (name,) = world.left()
    above = world.state / "fetching"
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (above, above / name)] == [0o700, 0o700]
    source.close()
    assert world.left() == []


@pytest.mark.parametrize("over", ["file", "http"])
def test_branches_tags_and_commits(repository: Repository, world: World, server: Served, over: str) -> None:
    location = repository.url if over == "file" else f"{server.url}/repository"
    first = repository.commit({"a/SKILL.md": skill("first")})
    repository.git("tag", "-a", "-m", "with a message", "v1", first)
    repository.git("tag", "light", first)
    repository.git("tag", "-a", "-m", "a tag of a tag", "twice", "v1")
    second = repository.commit({"a/SKILL.md": skill("second")})
    branch = repository.commit({"a/SKILL.md": skill("third")}, branch="feature/x")
    expected = {
        "": second,
        "main": second,
        "refs/heads/main": second,
        "feature/x": branch,
        "v1": first,
        "light": first,
        "twice": first,
        first: first,
        first.upper(): first,
        first[:9]: first,
        second: second,
    }
    for ref, commit in expected.items():
        listing = world.source(location, ref).inspect()
        assert (listing.revision, listing.notes, listing.offers[0].ref.ref) == (commit, (), ref), ref


@pytest.mark.parametrize("path", ["x/skills/pdf", "x/skills", "x"])
def test_the_branch_of_a_page_may_have_slashes(repository: Repository, world: World, path: str) -> None:
    commit = repository.commit({"skills/pdf/SKILL.md": skill("pdf")}, branch="feature/x")
    source = world.source(repository.url, "feature", path)
    listing = source.inspect()
    assert [(offer.ref, offer.revision) for offer in listing.offers] == [
        (Ref("git", repository.url, "feature/x", "skills/pdf"), commit)
    ]
    assert [package.offer for package in source.fetch(listing.offers)] == list(listing.offers)


def test_a_page_whose_branch_is_gone_says_so(repository: Repository, world: World) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill("pdf")})
    error = error_of(world, repository.url, "feature", "x/skills/pdf")
    assert (error.code, "feature" in error.message) == ("no-such-ref", True)


def test_a_commit_that_no_branch_leads_to_is_noted(repository: Repository, world: World) -> None:
    lost = repository.commit(FILES)
    repository.commit({"a/SKILL.md": skill("a")}, orphan=True)
    listing = world.source(repository.url, lost).inspect()
    assert (listing.revision, [note.code for note in listing.notes]) == (lost, ["commit-not-on-branch"])


def test_an_unknown_name_gets_the_closest(repository: Repository, world: World) -> None:
    commit = repository.commit(FILES)
    repository.git("tag", "v1.0", commit)
    error = error_of(world, repository.url, "mian")
    assert (type(error), error.code, error.details["suggestions"]) == (NotFoundError, "no-such-ref", ["main"])
    assert error_of(world, repository.url, "f" * 40).code == "no-such-ref"
    assert error_of(world, repository.url, "abcdef0").code == "no-such-ref"


def test_a_name_that_means_no_commit(repository: Repository, world: World) -> None:
    commit = repository.commit(FILES)
    repository.git("tag", "tree", repository.git("rev-parse", f"{commit}^{{tree}}"))
    assert error_of(world, repository.url, "tree").code == "no-such-ref"


def test_the_beginning_of_several_commits_is_ambiguous(repository: Repository, world: World) -> None:
    who = "committer A <a@example.invalid>"
    commits = [f"commit refs/heads/main\n{who} {number} +0000\ndata 1\nx\n" for number in range(1000)]
    repository.git("fast-import", "--quiet", feed="".join(commits).encode())
    begins = Counter(commit[:4] for commit in repository.git("rev-list", "main").split())
    prefix = begins.most_common(1)[0][0]
    remote = Remote(repository.url, world.reach)
    try:
        with pytest.raises(AmbiguousError) as caught:
            _by_prefix(remote, prefix, "")
    finally:
        remote.close()
    assert (caught.value.code, len(caught.value.details["candidates"])) == ("ambiguous-ref", begins[prefix])


def test_a_directory_of_a_repository(repository: Repository, world: World, server: Served) -> None:
    repository.commit(FILES)
    location = f"{server.url}/repository"
    assert names(world.source(location, path="skills").inspect()) == ["docx", "calls-itself-so", "pdf"]
    assert names(world.source(location, path="skills/pdf").inspect()) == ["pdf"]
    assert names(world.source(location, path="skills/pdf/SKILL.md").inspect()) == ["pdf"]
    assert names(world.source(location, path="odd").inspect()) == ["calls-itself-so"]


def test_a_path_that_is_not_there(repository: Repository, world: World) -> None:
    repository.commit({**FILES, "more/pdf/SKILL.md": skill("pdf-more"), "empty/README.md": ""})
    error = error_of(world, repository.url, path="skills/pdff")
    assert (error.code, error.details["suggestions"][0]) == ("no-such-path", "skills/pdf")
    ambiguous = error_of(world, repository.url, path="pdf")
    assert (type(ambiguous), ambiguous.code) == (AmbiguousError, "ambiguous-skill")
    assert ambiguous.details["candidates"] == ["more/pdf", "skills/pdf"]
    assert error_of(world, repository.url, path="empty").code == "no-skills-found"
    assert error_of(world, repository.url, path="README.md").code == "no-such-path"


def test_names_choose_by_directory_and_by_what_a_skill_calls_itself(
    repository: Repository, world: World, server: Served
) -> None:
    repository.commit(FILES)
    source = world.source(f"{server.url}/repository")
    assert names(source.inspect(["pdf"])) == ["pdf"]
    assert names(source.inspect(["skills/docx", "PDF"])) == ["docx", "pdf"]
    assert "calls-itself-so" in names(source.inspect(["calls-itself-so"]))
    assert names(source.inspect(["nothing-like-it"])) == ["docx", "calls-itself-so", "pdf"]
    offer = next(offer for offer in source.inspect(["calls-itself-so"]).offers if offer.name == "calls-itself-so")
    assert sorted(source.fetch([offer])[0].tree) == ["SKILL.md"]


def test_a_skill_that_calls_itself_like_another_directory_is_not_overlooked(
    repository: Repository, world: World
) -> None:
    repository.commit({"x/pdf/SKILL.md": skill("old-pdf"), "x/other/SKILL.md": skill("pdf")})
    assert names(world.source(repository.url).inspect(["pdf"])) == ["pdf", "old-pdf"]


def test_a_hundred_skills_are_one_fetch(repository: Repository, world: World, server: Served) -> None:
    files: dict[str, Content] = {}
    for number in range(100):
        files[f"skills/s{number:02}/SKILL.md"] = skill(f"s{number:02}")
        files[f"skills/s{number:02}/references/a.md"] = f"text {number}"
    repository.commit(files)
    source = world.source(f"{server.url}/repository")
    listing = source.inspect()
    fetched = source.fetch(listing.offers)
    assert ([len(item.tree) for item in fetched], server.fetches) == ([2] * 100, 1)
    assert {progress.unit for progress in world.seen} <= {"objects"}


def test_only_the_files_of_the_skill_meant_are_asked_for(repository: Repository, world: World, server: Served) -> None:
    noise = {f"data/{number}.bin": os.urandom(20_000) for number in range(20)}
    commit = repository.commit({**FILES, **noise})
    listed = repository.git("ls-tree", "-r", "--format=%(objectname)", commit, "skills/pdf").split()
    for source in (
        world.source(f"{server.url}/repository", path="skills/pdf"),
        world.source(f"{server.url}/repository"),
    ):
        server.bodies.clear()
        server.sent = 0
        listing = source.inspect(() if source.ref.path else ["pdf"])
        assert sorted(source.fetch(listing.offers)[0].tree) == ["SKILL.md", "references/forms.md", "scripts/fill.py"]
        assert (sorted(server.wants()), server.fetches) == (sorted([commit, *listed]), 2)
        assert server.sent < 20_000
        source.close()


def test_a_server_without_filters_is_asked_once(tmp_path: Path, world: World, server: Served) -> None:
    plain = Repository.new(tmp_path / "plain", filters=False)
    plain.commit(FILES)
    source = world.source(f"{server.url}/plain", path="skills/pdf")
    assert len(source.fetch(source.inspect().offers)[0].tree) == 3
    assert server.fetches == 1


def test_a_server_of_the_old_protocol(repository: Repository, world: World, server: Served) -> None:
    server.old = True
    first = repository.commit(FILES)
    repository.commit({"a/SKILL.md": skill("a")})
    source = world.source(f"{server.url}/repository", first, "skills/pdf")
    listing = source.inspect()
    assert (listing.revision, len(source.fetch(listing.offers)[0].tree)) == (first, 3)
    source.close()
    tip = world.source(f"{server.url}/repository", path="a")
    assert len(tip.fetch(tip.inspect().offers)) == 1
    tip.close()


def test_a_branch_that_moves_is_seen(repository: Repository, world: World) -> None:
    repository.commit(FILES)
    source = world.source(repository.url)
    before = {offer.name: offer for offer in source.inspect().offers}
    changed = repository.commit({**FILES, "skills/pdf/references/forms.md": "other"})
    after = {offer.name: offer for offer in source.inspect().offers}
    assert {offer.revision for offer in after.values()} == {changed}
    assert [name for name in after if after[name].marker != before[name].marker] == ["pdf"]
    with pytest.raises(WhetError) as caught:
        source.fetch([before["pdf"]])
    assert caught.value.code == "stale-offer"
    forced = repository.commit({"a/SKILL.md": skill("a")}, orphan=True)
    assert (names(again := source.inspect()), again.revision) == (["a"], forced)


def test_a_branch_that_is_gone(repository: Repository, world: World) -> None:
    repository.commit(FILES)
    repository.commit(FILES, branch="next")
    source = world.source(repository.url, "next")
    source.inspect()
    repository.git("branch", "-D", "next")
    with pytest.raises(NotFoundError) as caught:
        source.inspect()
    assert (caught.value.code, world.left()) == ("no-such-ref", [])


def test_an_empty_repository(repository: Repository, world: World) -> None:
    assert error_of(world, repository.url).code == "no-skills-found"


def test_a_repository_without_a_default_branch(repository: Repository, world: World) -> None:
    repository.commit(FILES, branch="trunk")
    error = error_of(world, repository.url)
    assert (error.code, error.details["suggestions"]) == ("no-such-ref", ["trunk"])


def test_a_repository_without_skills(repository: Repository, world: World) -> None:
    repository.commit({"README.md": "nothing here"})
    assert error_of(world, repository.url).code == "no-skills-found"


@pytest.mark.parametrize("over", ["file", "http"])
def test_a_repository_with_longer_ids(tmp_path: Path, world: World, server: Served, over: str) -> None:
    long = Repository.new(tmp_path / "long", object_format="sha256")
    first = long.commit(FILES)
    long.commit({**FILES, "b/SKILL.md": skill("b")})
    location = long.url if over == "file" else f"{server.url}/long"
    for ref, path in (("", ""), ("", "skills/pdf"), (first, "skills/pdf"), (first[:10], "")):
        source = world.source(location, ref, path)
        listing = source.inspect()
        assert len(listing.revision) == 64
        assert "pdf" in [item.offer.name for item in source.fetch(listing.offers)]
        source.close()


def test_links_to_skills_are_noted_and_not_listed_twice(repository: Repository, world: World) -> None:
    linked: dict[str, Content] = {
        ".claude/skills/pdf": Linked("../../skills/pdf"),
        ".codex/skills": Linked("../skills"),
    }
    repository.commit({**FILES, **linked, "docs/latest": Linked("../README.md")})
    listing = world.source(repository.url).inspect()
    assert names(listing) == ["docx", "calls-itself-so", "pdf"]
    assert [(note.code, note.path) for note in listing.notes] == [
        ("linked-skill", ".claude/skills/pdf"),
        ("linked-skill", ".codex/skills"),
    ]


def test_a_skill_that_only_a_link_leads_to_is_offered_where_it_is(repository: Repository, world: World) -> None:
    files: dict[str, Content] = {
        "node_modules/kit/skill/SKILL.md": skill("kit"),
        "skills/kit": Linked("../node_modules/kit/skill"),
    }
    repository.commit(files)
    for chosen in ([], ["kit"]):
        source = world.source(repository.url)
        listing = source.inspect(chosen)
        assert [(offer.name, offer.ref.path) for offer in listing.offers] == [("kit", "node_modules/kit/skill")]
        assert sorted(source.fetch(listing.offers)[0].tree) == ["SKILL.md"]
        source.close()


@pytest.mark.parametrize("path", [".claude/skills/pdf", ".codex/skills/pdf"])
def test_a_path_through_a_link(repository: Repository, world: World, path: str) -> None:
    linked: dict[str, Content] = {
        ".claude/skills/pdf": Linked("../../skills/pdf"),
        ".codex/skills": Linked("../skills"),
    }
    repository.commit({**FILES, **linked})
    source = world.source(repository.url, path=path)
    listing = source.inspect()
    assert [offer.ref.path for offer in listing.offers] == ["skills/pdf"]
    assert len(source.fetch(listing.offers)[0].tree) == 3


def test_links_that_stay_in_a_package_are_kept(repository: Repository, world: World) -> None:
    repository.commit({"a/SKILL.md": skill("a"), "a/docs/x.md": "x", "a/latest.md": Linked("docs/x.md")})
    source = world.source(repository.url)
    tree = source.fetch(source.inspect().offers)[0].tree
    assert tree["latest.md"] == Item(b"docs/x.md", link=True)


def test_submodules_beside_skills_are_left_out_and_noted(repository: Repository, world: World) -> None:
    repository.commit({"vendor/kit": Module(), "a/SKILL.md": skill("a")})
    listing = world.source(repository.url).inspect()
    assert names(listing) == ["a"]
    assert [(note.code, note.message, note.path) for note in listing.notes] == [
        ("submodule-skipped", "vendor/kit is a submodule; Whet does not look for skills in it.", "vendor/kit")
    ]
    assert world.source(repository.url).inspect(["a"]).notes == ()


def test_plugins_of_a_marketplace_are_groups(repository: Repository, world: World) -> None:
    text = '{"name": "m", "plugins": [{"name": "papers", "source": "./", "skills": ["./skills/pdf"]}]}'
    repository.commit({**FILES, ".claude-plugin/marketplace.json": text})
    for path in ("", "skills"):
        offers = world.source(repository.url, path=path).inspect().offers
        assert [(offer.name, offer.group) for offer in offers] == [
            ("docx", ""),
            ("calls-itself-so", ""),
            ("pdf", "papers"),
        ]


def test_pointers_to_files_kept_elsewhere_are_noted(repository: Repository, world: World) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    repository.commit({"a/SKILL.md": skill("a"), "a/assets/model.bin": pointer})
    source = world.source(repository.url)
    notes = source.fetch(source.inspect().offers)[0].notes
    assert [(note.code, note.path) for note in notes] == [("lfs-pointer", "assets/model.bin")]


def test_one_refused_skill_does_not_hide_the_others(repository: Repository, world: World) -> None:
    files = {**FILES, "skills/big/SKILL.md": skill("big"), "skills/big/data.bin": bytes(17 * 1024 * 1024)}
    repository.commit(files)
    listing = world.source(repository.url).inspect()
    assert names(listing) == ["docx", "calls-itself-so", "pdf"]
    assert [(note.code, note.severity, note.skill, note.path) for note in listing.notes] == [
        ("archive-too-large", "error", "big", "skills/big")
    ]
    error = error_of(world, repository.url, path="skills/big")
    assert (type(error), error.code) == (InvalidError, "archive-too-large")


def test_search_ranks_what_is_there(repository: Repository, world: World) -> None:
    repository.commit(FILES)
    (found,) = find(Ref("git", repository.url), world.reach, "word documents", 1)
    assert (found.offer.name, found.offer.ref.path) == ("docx", "skills/docx")
