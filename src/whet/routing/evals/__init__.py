"""Trigger evals: messages that should and should not trigger a skill, and its results on them."""
