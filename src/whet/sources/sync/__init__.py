"""Sync: the same skills for several clients."""
