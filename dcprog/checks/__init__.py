"""Is a declared loss or penalty what it says? By numbers."""
