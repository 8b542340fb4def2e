"""Sources of skills: fetching, installing, locking, updating and publishing."""
