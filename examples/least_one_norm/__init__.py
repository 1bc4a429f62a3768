"""López and Dorronsoro: the least 1-norm SVM."""
