"""Zhang, Pham, Fu and Liu, Math. Program. 169, 2018: robust angle-based SVMs."""
