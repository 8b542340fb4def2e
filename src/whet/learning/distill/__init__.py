"""From the evidence of a session to a skill: a model writes and code checks; without a model, an outline."""
