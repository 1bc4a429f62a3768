"""What several examples share, not run by themselves."""
