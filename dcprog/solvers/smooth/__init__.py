"""Newton methods for smooth losses and for kinks behind multipliers."""
