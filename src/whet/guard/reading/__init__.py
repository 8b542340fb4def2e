"""Bytes become texts: decoded, made canonical, unpacked, and told apart by kind."""
