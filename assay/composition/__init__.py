"""Inferred letter of a chain, which is a sequence of services called one after the other.

Srivastava & Rossi (2018), section 5: the letter of a composite is *inferred* from the letters of its
parts by a table, without a single call. There are two tables (`chain.TABLES`). A chain is evaluated in
every possible bracketing, because the printed table is not associative (`chain.compose_chain`). If letters
are uncertain, the result is a probability of each letter (`chain.combine`).
"""
