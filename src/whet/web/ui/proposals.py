"""Proposals: what each would change, and the two answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked


def show_proposals(asked: Asked) -> Page:
    """Show the pending proposals."""
    return Page("proposals.html", asked.library.proposals.pending().to_json())


def show_proposal(asked: Asked) -> Page:
    """Show the changes of one proposal."""
    return Page("proposal.html", asked.library.proposals.show(asked.number("number", 0)).to_json())


def approve(asked: Asked) -> Moved:
    """Approve a proposal."""
    number = asked.number("number", 0)
    entries = asked.library.proposals.approve(number).entries
    return Moved("/proposals", f"Proposal {number} is approved.", str(entries[-1]) if entries else "")


def reject(asked: Asked) -> Moved:
    """Reject a proposal."""
    number = asked.number("number", 0)
    asked.library.proposals.reject(number, asked.text("remark"))
    return Moved("/proposals", f"Proposal {number} is rejected.")


ROUTES = (
    Route("GET", "/proposals", show_proposals),
    Route("GET", "/proposal", show_proposal),
    Route("POST", "/proposal/approve", approve),
    Route("POST", "/proposal/reject", reject),
)
