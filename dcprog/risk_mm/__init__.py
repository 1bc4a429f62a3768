"""The surrogate of a risk: its majorant, units, subproblems, duality bound and ties."""
