"""What each address of the hub answers, a module for each subject."""
