"""Shen and Peng, iJOE 9, 2013: the Padé smooth SVM."""
