"""The basis of all other packages: arrays, errors, declared parameters, logs."""
