"""Interfaces: each one translates between Whet's values and a surface; none holds logic of its own."""
