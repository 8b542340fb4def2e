"""What the files of a package do together."""
