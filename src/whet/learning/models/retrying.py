"""Trying again where that helps: after a rate limit, a failure of the server, a lost connection.

Nothing else is tried again. A refusal is an answer. A request that the provider does not accept will not be accepted
later. A request that ran out of time has been paid for and would likely be as slow again. The libraries of the
providers, which would retry by themselves, are told not to, so that what is counted here is what happened.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from whet.learning.models.door import Completion, ModelError, Request, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 4
FIRST_WAIT = 1.0
"""Seconds before the second attempt; twice as long before each further one."""
LONGEST_WAIT = 60.0
"""Seconds that are waited before one attempt at most, whatever the provider asks for."""
TOTAL = 300.0
"""Seconds after which no further attempt begins."""


class Retrying:
    """A wire that tries again. It waits as long as the provider asks, or else longer and longer."""

    __slots__ = ("_attempts", "_clock", "_jitter", "_sleep", "_wire", "name")

    def __init__(
        self,
        wire: Wire,
        *,
        attempts: int = ATTEMPTS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = wire.name
        self._wire, self._attempts = wire, attempts
        self._clock, self._sleep, self._jitter = clock, sleep, jitter

    def send(self, request: Request) -> Completion:
        """What the wire answers, at the latest at the last attempt."""
        begun = self._clock()
        attempt = 1
        while True:
            try:
                return self._wire.send(request)
            except ModelError as error:
                wait = self._wait(error, attempt)
                error.details["attempts"] = attempt
                if wait is None or self._clock() + wait - begun > TOTAL:
                    raise
            self._sleep(wait)
            attempt += 1

    def _wait(self, error: ModelError, attempt: int) -> float | None:
        """Seconds until the next attempt; None where there is none.

        Half of our own wait is left to chance, so that many who failed together do not come back together.
        """
        if not error.again or attempt >= self._attempts:
            return None
        if error.wait is not None:
            return error.wait if error.wait <= LONGEST_WAIT else None
        longest = min(FIRST_WAIT * float(1 << (attempt - 1)), LONGEST_WAIT)
        return longest * (0.5 + 0.5 * self._jitter())
