"""Edits and updates brought together."""
