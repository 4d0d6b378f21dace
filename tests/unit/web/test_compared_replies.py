"""Marked differences between two replies, on the page that compares two ratings."""

from __future__ import annotations

import random
import time

from web.compare.sentences import MOST_WORDS, JoinedQuestion


def test_in_a_comparison_words_that_are_missing_in_the_other_services_reply_are_marked():
    joined = JoinedQuestion("She came.", "es", "Ella vino ayer", "Ella vino hoy", 1.0)
    assert joined.words == ([("Ella vino", False), ("ayer", True)], [("Ella vino", False), ("hoy", True)])


def test_different_long_replies_are_marked_as_a_whole_in_bounded_time():
    # guards against 06d1ba2, where two replies of 5,000 words took half a minute, and a page shows 40 such pairs
    rng = random.Random(0)
    before, after = (" ".join(rng.choice("ab") for _ in range(10 * MOST_WORDS)) for _ in range(2))
    began = time.process_time()
    assert JoinedQuestion("q", None, before, after, 1.0).words == ([(before, True)], [(after, True)])
    assert time.process_time() - began < 0.5
