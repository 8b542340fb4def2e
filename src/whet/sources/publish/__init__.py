"""Skills for others: repositories, web directories, snapshots."""
