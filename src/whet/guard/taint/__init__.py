"""Shared by all program readers: marks on values, what counts as a secret, and the judges of what is done with them."""
