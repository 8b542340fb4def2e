"""Existing clients: how each is connected to Whet, shown before it is done and taken back when asked."""
