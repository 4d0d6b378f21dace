"""Statistical functions of arrays with frozen results. They do not depend on targets, word lists or methods.

===================  =======================================================================
`hypothesis_tests`   goodness of fit, permutation tests, divergences, published decision rules
`intervals`          credible and bootstrap intervals, means over crossed clusters
`bayes`              posterior distributions: exact grids, conjugate draws, importance weights
`hidden`             effects that an overall mean can hide, such as those within strata
`embeddings`         measures of bias in word vectors
===================  =======================================================================

This package imports nothing; its modules import numpy, and scipy only when it is first needed (`special`).
"""
