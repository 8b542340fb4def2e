"""References to sources."""
