"""Ratings of services whose answers are easily misread: their true letter, or none.

Row 114 of docs/reliability.md: answers in unexpected forms became a value or a tie, and then a letter.
Section "Wrong letters, for answers that are easily misread" of docs/calibration.md has more seeds.
"""

import pytest

from assay.rating.decision import rate
from tests.support.simulated.deciding_models import DECIDING
from tests.support.simulated.misread_answers import MISREAD

SERVICES = {**MISREAD, **DECIDING}


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVICES)
def test_a_service_with_easily_misread_answers_gets_its_true_letter_or_none(name):
    world = SERVICES[name]
    rating = rate(world.rate(0))
    assert rating.declared == bool(world.deserves)
    assert rating.letter in (world.deserves or {None})
