"""Stimulus sampling: which generated inputs a classifier puts into its positive class (Liang & Acuna 2020).

`reading` chooses the label of the positive class; `texts` and `vectors` hold the replies to each kind of input;
`resemblance` describes the inputs of the positive class; `analysis` computes the letter of the component.
"""
