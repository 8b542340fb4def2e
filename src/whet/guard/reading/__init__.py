"""Reading of packages: bytes are decoded, unpacked, put into canonical spelling and classified by kind."""
