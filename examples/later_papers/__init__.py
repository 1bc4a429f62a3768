"""Losses and penalties of later papers, declared in about ten lines, each with a claim checked."""
