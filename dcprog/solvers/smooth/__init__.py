"""Newton methods for smooth losses, and augmented Lagrangians for losses with kinks."""
