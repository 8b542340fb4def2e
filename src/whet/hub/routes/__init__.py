"""The addresses of the hub, a module for each subject."""
