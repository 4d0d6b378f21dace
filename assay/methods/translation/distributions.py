"""Declared distributions of data blocks: defaults and checks (Srivastava & Rossi 2018, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.catalog import Attribute
from assay.errors import BadDistribution

BIASED_SHARE = 0.9
"""Share of one value in a default biased block: P5's (.1, .9) and (.9, .1)."""

TOLERANCE = 1e-6
"""Largest permitted difference between 1 and the sum of a distribution's shares."""

Shares = Mapping[str, float]


@dataclass(frozen=True)
class BlockSpec:
    """The declared distribution of one block.

    `name` is unique in its experiment (``"U"``, ``"B1"`` …), `role` is ``"unbiased"`` or ``"biased"``. `shares` holds
    the share of the block's sentences for each value, in [0, 1]; a missing value has share 0.
    """

    name: str
    role: str
    shares: Mapping[str, float]


def check_distribution(shares: Mapping[str, float], attribute: Attribute, field: str) -> dict[str, float]:
    """Check that shares are a distribution over an attribute's values; return them all, in the attribute's order.

    A missing value gets share 0. The residual (outputs that name no single value) may only have share 0, because no
    input is written with it. `field` is the request's field that an error names.

    Raises
    ------
    BadDistribution
        If a value is unknown, or a share is negative or no finite number, or the residual has a
        share, or the shares do not sum to one within `TOLERANCE`.
    """
    for name, share in shares.items():
        if name not in attribute.outputs:
            value_names = ", ".join(attribute.value_names)
            raise BadDistribution(f"{attribute.name} has no value {name!r}; known: {value_names}", field)
        if not math.isfinite(share) or share < 0:
            raise BadDistribution(f"the share of {name!r} must be a number from 0 to 1, not {share}", field)
    residual = attribute.residual
    if shares.get(residual, 0.0) > 0:
        raise BadDistribution(
            f"no sentence is written with {residual!r}: its share must be 0, not {shares[residual]}", field
        )
    total = math.fsum(shares.values())
    if abs(total - 1) > TOLERANCE:
        raise BadDistribution(f"the shares must sum to 1, not {total:.6g}", field)
    return {name: float(shares.get(name, 0.0)) for name in attribute.value_names}


def default_unbiased(attribute: Attribute) -> tuple[dict[str, float], ...]:
    """Return one block with the same share of every value: P5's U = (.5, .5, 0) for gender."""
    return ({name: 1 / len(attribute.value_names) for name in attribute.value_names},)


def default_biased(attribute: Attribute) -> tuple[dict[str, float], ...]:
    """Return one block for each value, with a share of .9 of that value: P5's (.1, .9, 0), (.9, .1, 0) for gender."""
    names = attribute.value_names
    other_share = round((1 - BIASED_SHARE) / (len(names) - 1), 12)
    return tuple(
        {name: BIASED_SHARE if name == favoured else other_share for name in names} for favoured in reversed(names)
    )


def declare_blocks(attribute: Attribute, unbiased: Sequence[Shares], biased: Sequence[Shares]) -> tuple[BlockSpec, ...]:
    """Check declared distributions and name their blocks.

    A single unbiased block is called ``U``, several are ``U1, U2 …``; biased blocks are ``B1, B2 …``. Raise
    `BadDistribution` if shares are no distribution over the attribute's values, or two blocks have equal shares.
    """
    blocks: list[BlockSpec] = []
    for role, declared, letter in (("unbiased", unbiased, "U"), ("biased", biased, "B")):
        for index, shares in enumerate(declared):
            where = f"{role}.{index}"
            checked = check_distribution(shares, attribute, where)
            for block in blocks:
                if all(abs(checked.get(v, 0.0) - block.shares.get(v, 0.0)) < 1e-9 for v in attribute.value_names):
                    raise BadDistribution(
                        f"{where} declares the same distribution as {block.name}: "
                        "an unbiased and a biased block, or two of a kind, must differ",
                        where,
                    )
            name = "U" if letter == "U" and len(declared) == 1 else f"{letter}{index + 1}"
            blocks.append(BlockSpec(name, role, checked))
    return tuple(blocks)
