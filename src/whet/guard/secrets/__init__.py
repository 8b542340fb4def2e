"""Secrets: found in packages, removed from findings, hidden in transcripts, all with one table of shapes and places."""
