"""Checkers for shell scripts, by their grammar, and for PowerShell and cmd, by patterns."""
