"""Learning from finished sessions: which are worth a skill, how many per day, and what they become."""
