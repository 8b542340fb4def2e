"""Trigger evals: messages that should and should not bring a skill up, and how well it does on them."""
