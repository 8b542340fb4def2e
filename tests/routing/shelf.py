"""A small library of written skills, and routers that know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whet.routing.router import Entry, Router
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.routing.router import Found

SHELF = (
    Texts(
        "git-rebase",
        "Rewrite local branch history: interactive rebase, squash and reorder commits, resolve conflicts on the "
        "way. Do not use for undoing commits that are already pushed.",
        "# Interactive rebase\nStart with `git rebase -i`, mark commits as squash or fixup.\n## Conflicts\nEdit "
        "the conflicted file, `git add` it, then `git rebase --continue`.",
        triggers=("squash my commits", "clean up history"),
    ),
    Texts(
        "git-bisect",
        "Find the commit that introduced a bug by binary search over history with a good and a bad revision.",
        "# Bisect\nMark one revision good and one bad. Automate with `git bisect run` and a script that fails.",
        tags=("debugging", "regression"),
    ),
    Texts(
        "kubernetes-rollout",
        "Deploy services to Kubernetes clusters: rolling updates, canary releases, rollbacks, health probes and "
        "helm charts. Not for local docker-compose setups.",
        "# Rollout\nCheck `kubectl rollout status`. Undo with `kubectl rollout undo`.\n# Probes\nReadiness and "
        "liveness probes keep traffic away from pods that are not ready.",
        triggers=("ship it to the cluster",),
    ),
    Texts(
        "docker-compose",
        "Run several containers on one machine with docker compose: services, volumes, networks, environment files.",
        "# Compose\nWrite `compose.yaml`, start with `docker compose up -d`, read logs, tear down with volumes.",
    ),
    Texts(
        "pdf-forms",
        "Fill in PDF forms, read their fields, flatten and merge PDF documents.",
        "# Forms\nList the fields of the form, fill each of them, flatten the document so it can be printed.",
        when_not_to_use="scanned paper that needs optical character recognition",
        tags=("documents",),
    ),
    Texts(
        "spreadsheet-cleaning",
        "Clean up messy spreadsheets and CSV files: duplicate rows, wrong dates, mixed units, empty columns.",
        "# Cleaning\nLoad the sheet with pandas. Trim whitespace, parse dates, drop duplicates, save as xlsx.",
        triggers=("tidy this table",),
    ),
    Texts(
        "sql-tuning",
        "Make slow SQL queries fast: read execution plans, add indexes, rewrite joins, spot full table scans in "
        "PostgreSQL and MySQL.",
        "# Plans\nRun `EXPLAIN ANALYZE`. A sequential scan over a large table calls for an index.",
    ),
    Texts(
        "database-migration",
        "Write schema migrations for relational databases with zero downtime: add columns, backfill, rename "
        "safely, roll back. Skip when the question is only about query performance.",
        "# Migration\nExpand, migrate, contract. Backfill in batches. Never lock the table for long.",
    ),
    Texts(
        "api-design",
        "Design REST interfaces: resource names, status codes, pagination, versioning, error bodies, OpenAPI "
        "documents.",
        "# Resources\nUse nouns. Return 201 for creation and 409 for conflicts. Page with cursors.",
    ),
    Texts(
        "react-components",
        "Build accessible React components with hooks, context, memoisation and TypeScript props.",
        "# Components\nPrefer composition. `useEffect` is for synchronising. Keyboard focus, aria labels.",
        tags=("frontend",),
    ),
    Texts(
        "css-layout",
        "Lay out pages with CSS grid and flexbox, fix overflow, centering and responsive breakpoints.",
        "# Grid\nName the areas. # Flexbox\nAlign items, justify content, wrap.",
    ),
    Texts(
        "unit-tests",
        "Write and repair unit tests with pytest: fixtures, parametrised cases, mocks, flaky tests, coverage.",
        "# Tests\nArrange, act, assert. Use `monkeypatch` for the environment, `tmp_path` for files.",
        triggers=("add tests",),
    ),
    Texts(
        "load-testing",
        "Measure how a web service behaves under heavy traffic: throughput, latency percentiles, saturation, "
        "using k6 or Locust scenarios.",
        "# Scenario\nRamp up virtual users, hold, ramp down. Watch the 99th percentile.",
    ),
    Texts(
        "incident-report",
        "Write a blameless postmortem after an outage: timeline, impact, root cause, action items.",
        "# Postmortem\nWhat happened, when it was noticed, who was affected, what will change.",
        when_to_use="after an outage or a production incident is over",
    ),
    Texts(
        "release-notes",
        "Turn merged pull requests and commit messages into release notes and a changelog entry.",
        "# Changelog\nGroup by added, changed, fixed. Leave out what users do not notice.",
    ),
    Texts(
        "meeting-minutes",
        "Summarise meeting transcripts into minutes with decisions, owners and deadlines.",
        "# Minutes\nList who attended, what was decided, who does what until when.",
    ),
    Texts(
        "email-drafting",
        "Draft polite business emails and replies: declining offers, chasing invoices, apologies, introductions.",
        "# Tone\nOpen with the reason. One request for each message. Close with the next step.",
    ),
    Texts(
        "translation-german",
        "Translate texts between German and English, keeping tone, idioms and formatting.",
        "# Translating\nKeep the formal Sie unless told otherwise. Leave code as it is.",
    ),
    Texts(
        "image-resizing",
        "Resize, crop, compress and convert pictures: JPEG, PNG, WebP, thumbnails, EXIF removal.",
        "# Pictures\nUse Pillow. Keep the aspect ratio. Strip the metadata before publishing.",
    ),
    Texts(
        "video-subtitles",
        "Make and synchronise subtitles for videos: transcribe speech, SRT and VTT timing, burn in captions.",
        "# Subtitles\nTwo lines at most, at least a second each. Shift all timestamps with ffmpeg.",
    ),
    Texts(
        "terraform-modules",
        "Write reusable Terraform modules for cloud infrastructure on AWS, with state, variables and outputs.",
        "# Modules\nPin provider versions. Keep remote state in a bucket with locking.",
    ),
    Texts(
        "password-rotation",
        "Rotate leaked or expired credentials: API tokens, SSH keys, database passwords, and revoke the old ones.",
        "# Rotation\nIssue the new secret, deploy it, revoke the old one, check the audit log.",
    ),
    Texts(
        "regex-writing",
        "Write, explain and debug regular expressions, with lookaheads, named groups and runaway backtracking.",
        "# Expressions\nAnchor first. Avoid nested quantifiers. Test with strings that must not match.",
    ),
    Texts(
        "chart-drawing",
        "Draw charts from data with matplotlib: line plots, histograms, scatter plots, axis labels, colours.",
        "# Charts\nLabel the axes, start bars at zero, choose colours that everyone can tell apart.",
    ),
    Texts(
        "weekly-report-zh",
        "根据本周的工作记录撰写周报，整理完成事项、问题和下周计划。请勿用于会议纪要。",
        "# 周报\n先列出完成的事项，再写遇到的问题，最后写下周计划。",
    ),
)


def entry(texts: Texts, key: str = "", stamp: str = "1") -> Entry:
    """An entry that is read from memory; its key is the skill's name unless told otherwise."""
    return Entry(key or texts.name, stamp, lambda: texts)


def router(skills: Iterable[Texts] = SHELF, path: str = ":memory:") -> Router:
    """A router that knows these skills."""
    made = Router(path)
    made.update(map(entry, skills))
    return made


def with_more(name: str, **more: tuple[str, ...]) -> tuple[Texts, ...]:
    """The shelf with something added to one skill."""
    return tuple(texts._replace(**more) if texts.name == name else texts for texts in SHELF)  # type: ignore[arg-type]  # by name


def assert_same(found: Sequence[tuple[Found, ...]], expected: Sequence[tuple[Found, ...]]) -> None:
    """Same skills, same order, same reasons; scores but for how a computer rounds sums of another order."""
    assert [[(one.key, one.why) for one in some] for some in found] == [
        [(one.key, one.why) for one in some] for some in expected
    ]
    assert [[one.score for one in some] for some in found] == [
        [pytest.approx(one.score, abs=0.0011) for one in some] for some in expected
    ]


def baseline(message: str, skills: Mapping[str, Texts]) -> list[str]:
    """Keys by plain BM25F over name and description, best first: what most skill systems would do at their best."""
    from collections import Counter
    from math import log

    from whet.skill.terms import FILLERS, spell

    def terms(text: str) -> list[str]:
        return [word for word in spell(text) if word not in FILLERS]

    fields = {key: (Counter(terms(one.name)), Counter(terms(one.description))) for key, one in skills.items()}
    means = [sum(sum(field[at].values()) for field in fields.values()) / len(fields) for at in (0, 1)]
    scores = dict.fromkeys(skills, 0.0)
    for term in terms(message):
        having = sum(any(term in field for field in both) for both in fields.values())
        rarity = log(1 + (len(fields) - having + 0.5) / (having + 0.5))
        for key, both in fields.items():
            weight = 0.0
            for field, mean, boost in zip(both, means, (3.0, 1.0), strict=True):
                weight += boost * field[term] / (0.25 + 0.75 * sum(field.values()) / mean)
            scores[key] += rarity * weight / (weight + 1.2)
    return sorted((key for key, score in scores.items() if score), key=lambda key: (-scores[key], key))
