"""Whole stories, through the real command line."""
