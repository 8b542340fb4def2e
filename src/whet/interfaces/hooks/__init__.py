"""Hooks: what an existing agent tells Whet while it works, and what it gets to know in return."""
