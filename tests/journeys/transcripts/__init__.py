"""Sessions of eleven kinds of work, two of each: the second is another case, asked for in other words."""
