"""The outer loop, the protocol of problems, and the records of runs and results."""
