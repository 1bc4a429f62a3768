"""Shared foundations: arrays, errors, declared parameters, logs."""
