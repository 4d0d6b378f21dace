"""Stimulus sampling: the inputs that make a classifier say yes (Liang & Acuna 2020; docs/methods/stimulus-sampling.md).

`reading` chooses the label that counts as yes; `texts` and `vectors` hold the replies to each kind of input;
`resemblance` describes the inputs that get a yes; `analysis` computes the letter of the component.
"""
