"""JavaScript and TypeScript by their grammar: values are followed, and flows are told."""
