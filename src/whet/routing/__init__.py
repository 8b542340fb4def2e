"""Finding the skills that fit a message: the index, ranking, automatic triggering, near-duplicates, trigger evals."""
