"""Hooks, as clients call them."""
