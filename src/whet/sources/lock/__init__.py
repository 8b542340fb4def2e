"""Locks and the records of installed skills."""
