"""Permissions of a skill's tools: `allowed-tools` as a restriction."""
