"""Findings for terminals, programs, CI and people."""
