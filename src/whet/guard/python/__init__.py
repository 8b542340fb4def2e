"""Python by its syntax tree: values are followed, calls are known by what they are, and flows are told."""
