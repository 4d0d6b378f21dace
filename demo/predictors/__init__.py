"""Classifiers, regressors and embedders of known bias."""
