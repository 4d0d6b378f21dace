"""Alternation: bias of a classifier or regressor when only a profile's protected attribute changes (Alelyani 2021)."""
