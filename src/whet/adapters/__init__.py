"""Adapters: the tools of a library as the common agent libraries want them, one module each."""
