"""What people name a source by."""
