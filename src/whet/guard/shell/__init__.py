"""Shell by its grammar, and PowerShell and cmd by patterns: what each command does."""
