"""Learning from finished sessions: which are worth a skill, how many of them a day, and what becomes of them."""
