"""What is installed, and the memory of it."""
