"""The records of a library about its skills, opened when they are first needed."""

from __future__ import annotations

from whet.records import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.learning.sessions import Sessions
    from whet.learning.usage import Usage
    from whet.routing.feedback import Feedback
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase


class Stores:
    """Usage, sessions and feedback of one library."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    @cached_property
    def usage(self) -> Usage:
        """How often each skill is viewed and used, and whether it helped."""
        from whet.learning.usage import Usage

        return Usage(self._state, self._clock)

    @cached_property
    def sessions(self) -> Sessions:
        """The sessions that the hooks of clients reported, and the failures of hooks."""
        from whet.learning.sessions import Sessions

        return Sessions(self._state, self._clock)

    @cached_property
    def feedback(self) -> Feedback:
        """Feedback by people and agents on which skill a message is for."""
        from whet.routing.feedback import Feedback

        return Feedback(self._state, self._clock)
