"""What all readers of programs share: marks on values, what is a secret, and the judges of what is done with them."""
