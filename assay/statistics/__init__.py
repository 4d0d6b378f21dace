"""Pure numbers: arrays in, frozen results out. Nothing here knows a target, a word or a method.

Counts and shares

=====================  ==================================================================
`distribution`         shares over named cells, checked once for everyone below
`transition`           posterior of a transition matrix and the two effects it has
`worst_block`          intervals of the two effects of such a matrix, and of the largest of several differences
`concordance`          do two answers agree more often than their errors explain?
`multinomial`          all outcomes of a multinomial, with their probability and Pearson statistic
`goodness`             goodness of fit: chi-squared, exact multinomial, G
`steps`                the letter of two steps that are known to be biased or not
`published`            the letter the decision rules of Srivastava & Rossi (2018) would give
`divergence`           Kullback-Leibler and Jensen-Shannon divergence, and their thresholds
`ordered`              Kolmogorov-Smirnov, for what has an order
`proportions`          a share with its Wilson interval
`intervals`            posterior draws with theirs
=====================  ==================================================================

Predictions (P3)

=====================  ==================================================================
`paired`               tests whether one side of pairs is like the other
`crossed`              means over profiles that share names, frames and contents
`alternation_effects`  the two effects of alternation, drawn
`gaussian`             divergence of two outputs taken to be Gaussian, by fold
`samples`              how far two samples are from each other: k-NN KL, Wasserstein, energy
`matched`              labels on both sides of a pair, base rates, disparate impact
=====================  ==================================================================

Vectors and choices (P1, P2)

=====================  ==================================================================
`vector_sets`          sets of word vectors: checked once, and their cosines
`two_afc`              where an observer of vectors cannot tell: the point of equality
`psychometric`         the curve of real choices, on a refined grid
`choice_effects`       the two effects of forced choice, drawn
`grid`                 posterior masses on a rectangular grid
`population`           mean and spread of points that are each known with an error of their own
`correlation`          how two numbers of the same words go together
`hierarchy`            posterior of cosine distances under P2's hierarchy, drawn exactly
`collapsed`            its cells, with their means integrated out
`spread_grid`          where its sigma and tau have mass
`predictive`           does it predict what was seen?
`comparison`           one list of words in two embeddings, before and after
`weat`                 the Word Embedding Association Test
`partitions`           its permutation test, exact or drawn
`null_check`           what effect size it makes of nothing
`embedding_bias`       MAC, RND and ECT
`bias_direction`       DirectBias and RIPA
`negative_sentiment`   RNSB
=====================  ==================================================================

Stereotypes (P4)

=====================  ==================================================================
`stereotype`           which sentence of a pair is likelier, by term, bias and model
`visual_stereotype`    the same of images
`beta_binomial`        shares of kinds that differ, on a grid
`stereotype_effects`   the two effects, drawn
=====================  ==================================================================

What makes a service say yes (P1)

=====================  ==================================================================
`importance`           inputs weighted by the service's own probability of a yes
`pareto_tail`          do a few weights decide?
`surrogate`            a logit that stands in for the service, to look for rare answers; its exact posterior
`projection`           principal components, for a figure
=====================  ==================================================================

Importing this package, or any module of it, costs numpy and at most `scipy.special`.
"""
