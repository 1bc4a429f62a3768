"""``dc.solve``: options, the race, runs, results, certificates, and the doors beside it."""
