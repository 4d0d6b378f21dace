"""Effects that a mean over everything can hide: within strata, of single items, in lost replies, of the scale."""
