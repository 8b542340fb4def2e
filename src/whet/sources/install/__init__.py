"""Installing: from a source to a plan, from a plan to the disk."""
