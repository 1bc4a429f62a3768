"""Random problems, fits and faults, and checks of what comes out that owe the library nothing."""
