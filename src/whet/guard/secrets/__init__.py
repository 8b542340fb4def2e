"""Secrets: found in packages, blacked out in findings, hidden in transcripts; one table of shapes and places for all."""
