"""What a skill's tools may do: `allowed-tools` as a restriction."""
