"""One file a paper: a spec, its estimator, and the equations it came from."""
