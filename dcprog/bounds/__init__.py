"""Lower bounds of nonconvex problems: convex minorants on boxes, and the search over boxes."""
