"""Fetching over HTTP, only from allowed addresses."""
