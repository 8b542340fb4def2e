"""Adapters: the tools of a library for the common agent libraries, one module each."""
