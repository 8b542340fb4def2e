"""Other programming languages, by patterns and by following values through statements."""
