"""The two-step decision of Srivastava & Rossi (2018)."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from assay.errors import SpecificationError
from assay.model import Letter


def two_step_letter(step_1_biased: bool, step_2_biased: bool) -> Letter:
    """Return the letter for the two steps (P5, section 3.1 and Figure 2)."""
    if step_1_biased:
        return Letter.BS
    return Letter.DSBS if step_2_biased else Letter.UCS


def check_blocks(
    observed: Mapping[str, ArrayLike], unbiased: Mapping[str, ArrayLike], biased: Mapping[str, ArrayLike]
) -> None:
    """Raise if a two-step comparison lacks a step or a block's counts.

    Parameters
    ----------
    observed : mapping
        Counts by block name.
    unbiased, biased : mapping
        Declared distributions by block name.

    Raises
    ------
    SpecificationError
        Saying which.
    """
    if not unbiased or not biased:
        raise SpecificationError("the two steps need at least one unbiased and one biased distribution")
    if shared := set(unbiased) & set(biased):
        raise SpecificationError(f"declared both unbiased and biased: {', '.join(sorted(shared))}")
    if missing := [name for name in (*unbiased, *biased) if name not in observed]:
        raise SpecificationError(f"no counts were given for {', '.join(missing)}; given: {', '.join(observed)}")
