"""Where skills come from and go to: sources, the install chain, the lock, updates, publishing."""
