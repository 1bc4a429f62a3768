"""What every room stands on: arrays, errors, declared parameters, logs."""
