"""Interval estimates of effects: credible intervals, crossed samples, the largest of several."""
