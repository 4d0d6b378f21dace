"""Statistics: arrays in, frozen results out. No module knows a target, a word list or a method.

===================  =======================================================================
`hypothesis_tests`   goodness of fit, permutation tests, divergences, published decision rules
`intervals`          credible and bootstrap intervals, means over crossed clusters
`bayes`              posterior distributions: exact grids, conjugate draws, importance weights
`embeddings`         measures of bias in word vectors
===================  =======================================================================

Importing this package costs nothing; its modules import numpy, and scipy only when it is first needed (`special`).
"""
