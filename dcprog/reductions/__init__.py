"""Other forms of a problem: real, recentred, and the risk behind it."""
