"""Analysis of Python code by its syntax tree: values are followed, calls are resolved and data flows are reported."""
