"""How stimulus sampling reads, weighs, picks and judges what it asks about (METHODS section 5).

`reading` says which answer is the yes; `texts` and `vectors` hold what was heard of either kind of input;
`resemblance` says what the inputs that make a yes are like; `judge` gives the component its letter.
"""
