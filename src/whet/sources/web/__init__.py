"""Fetching over HTTP, from addresses that may be asked."""
