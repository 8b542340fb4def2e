"""Checkers for running text: its orders to a model or a person, and the code in it."""
