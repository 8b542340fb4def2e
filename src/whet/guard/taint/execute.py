"""The judge of what is run: content that comes from elsewhere, and files that were made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.hosts import host_of, is_installer
from whet.guard.taint.mark import HOLE
from whet.guard.taint.network import Judgement, host_at

if TYPE_CHECKING:
    from whet.guard.taint.mark import Mark


def judge_started(mark: Mark) -> Judgement:
    """A file is run that was written with what was fetched or decoded before."""
    if mark.kind == "decoded":
        return Judgement("self-extracting", None, "", "It decodes a file, writes it out and runs it")
    url = mark.subject.replace(HOLE, "x")
    host = host_at(mark.subject)
    if is_installer(url):
        return Judgement("runs-download", "info", url)
    if url[:5].lower() == "http:" or host.shady or (host.kind in ("reserved", "other", "free") and host.name):
        message = f"It downloads a file from {host_of(url).name} and runs it"
        return Judgement("runs-download", "critical", url, message)
    return Judgement("runs-download", "info" if host.kind == "known" else "warn", url)
