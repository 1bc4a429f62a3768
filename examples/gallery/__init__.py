"""The manual's gallery: short scripts, each with a figure and an assertion of its result."""
