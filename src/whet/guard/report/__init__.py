"""Findings for a terminal, for programs, for CI and for people."""
