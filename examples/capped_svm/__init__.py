"""Nie, Wang and Huang, AAAI 2017: the multiclass capped ℓp-norm SVM."""
