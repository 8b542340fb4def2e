"""Which skill fits a message: the index, ranking, implicit invocation, near-duplicates, trigger evals."""
