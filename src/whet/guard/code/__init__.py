"""Analysis of other programming languages, by patterns and by following values through statements."""
