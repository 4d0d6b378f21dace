"""Stimulus sampling: the inputs that make a classifier say yes (Liang & Acuna 2020; METHODS section 5).

`reading` says which answer is the yes; `texts` and `vectors` hold what was heard of either kind of input;
`resemblance` says what the inputs that make a yes are like; `judge` gives the component its letter.
"""
