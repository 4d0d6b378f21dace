"""Effects that the overall mean can hide: within strata, of single items, in lost replies, and on other scales."""
