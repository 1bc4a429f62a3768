"""How the library is used: a demonstration, problems of one's own, losses of one's own."""
