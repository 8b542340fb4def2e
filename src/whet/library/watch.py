"""Being told of changes instead of asking for them: an extra on top of watchfiles. Nothing needs it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.extras import missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def wait_for_changes(directories: Sequence[str]) -> Iterator[None]:
    """Yield whenever something below one of the directories changed, a burst of changes counting once."""
    try:
        from watchfiles import watch
    except ImportError as error:
        raise missing_extra("Watching needs the package watchfiles.", "watch") from error
    existing = [path for path in directories if os.path.isdir(path)]
    for _ in watch(*existing, ignore_permission_denied=True, raise_interrupt=False):
        yield
