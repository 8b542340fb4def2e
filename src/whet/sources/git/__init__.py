"""Skills in git repositories."""
