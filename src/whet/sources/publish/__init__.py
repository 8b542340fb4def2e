"""Publishing skills: repositories, web directories, hubs, registries, snapshots."""
