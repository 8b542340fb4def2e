"""What others build on, as files to compare with."""
