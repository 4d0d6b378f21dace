"""Posterior distributions: exact grids, conjugate draws and importance weights."""
