"""Registries: sources that list their skills over HTTP."""
