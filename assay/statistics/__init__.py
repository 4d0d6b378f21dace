"""Pure numbers: arrays in, frozen results out. Nothing here knows a target, a word or a method.

==================  =====================================================================
`distribution`      shares over named cells, checked once for everyone below
`transition`        posterior of a transition matrix and the two effects it has
`concordance`       do two answers agree more often than their errors explain?
`multinomial`       every outcome of a multinomial, its probability and its distance
`goodness`          do counts fit a specification? chi-squared, exact multinomial, G
`steps`             the letter of two steps that are known to be biased or not
`published`         the letter the decision rules of Srivastava & Rossi (2018) would give
`divergence`        total variation, Kullback-Leibler, Jensen-Shannon and their thresholds
`ordered`           Kolmogorov-Smirnov, for what has an order
`multiplicity`      p-values of many components together
`proportions`       a share with its interval
`intervals`         posterior draws with theirs
==================  =====================================================================

Importing this package, or any module of it, costs numpy and at most `scipy.special`.
"""
