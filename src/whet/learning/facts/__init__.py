"""Facts of a session, found without a model: what was wanted, what worked, what did not, what one had to know.

`facts` is a pure function of a transcript. It never fails and never runs, opens or fetches anything.
"""

from __future__ import annotations

from whet.learning.facts.model import DeadEnd, Facts, Outcome, Parameter, Passage, Sort, Step, ToolUse
from whet.learning.facts.session import facts

__all__ = ["DeadEnd", "Facts", "Outcome", "Parameter", "Passage", "Sort", "Step", "ToolUse", "facts"]
