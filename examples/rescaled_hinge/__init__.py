"""Xu, Cao, Hu and Príncipe, 2017: the rescaled hinge SVM."""
