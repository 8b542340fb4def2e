"""Connecting clients, on configuration files as people have them."""
