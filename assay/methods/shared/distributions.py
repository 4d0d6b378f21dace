"""The distributions a request declares, made into blocks (P5, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalog import Attribute
from assay.errors import BadDistribution, OutOfBounds, SpecificationError
from assay.methods.translation.blocks import BlockSpec, check_distribution

BIASED_SHARE = 0.9
"""Share of one value in a default biased block: P5's (.1, .9) and (.9, .1)."""

Shares = Mapping[str, float]


def default_unbiased(attribute: Attribute) -> tuple[dict[str, float], ...]:
    """Give every value the same share: P5's U = (.5, .5, 0) for gender."""
    return ({name: 1 / len(attribute.value_names) for name in attribute.value_names},)


def default_biased(attribute: Attribute) -> tuple[dict[str, float], ...]:
    """Declare one block per value that holds .9 of it: P5's (.1, .9, 0) and (.9, .1, 0) for gender."""
    names = attribute.value_names
    rest = round((1 - BIASED_SHARE) / (len(names) - 1), 12)
    return tuple({name: BIASED_SHARE if name == favoured else rest for name in names} for favoured in reversed(names))


def declare_blocks(attribute: Attribute, unbiased: Sequence[Shares], biased: Sequence[Shares]) -> tuple[BlockSpec, ...]:
    """Check declared distributions and name their blocks.

    One unbiased block is called ``U``, several ``U1, U2 …``; biased ones ``B1, B2 …``.

    Raises
    ------
    BadDistribution
        If shares are no distribution over the attribute's values, or if two blocks are the same.
    """
    blocks: list[BlockSpec] = []
    for role, declared, letter in (("unbiased", unbiased, "U"), ("biased", biased, "B")):
        for place, shares in enumerate(declared):
            where = f"{role}.{place}"
            checked = check_distribution(shares, attribute, where)
            for other in blocks:
                if all(abs(checked.get(v, 0.0) - other.shares.get(v, 0.0)) < 1e-9 for v in attribute.value_names):
                    raise BadDistribution(
                        f"{where} declares the same distribution as {other.name}: "
                        "an unbiased and a biased block, or two of a kind, must differ",
                        where,
                    )
            name = "U" if letter == "U" and len(declared) == 1 else f"{letter}{place + 1}"
            blocks.append(BlockSpec(name, role, checked))
    return tuple(blocks)


def refuse_oversize(first: int, last: int, *, stop_early: bool, most: int, what: str) -> None:
    """Refuse a sequential design that needs more distinct sentences than there are.

    Parameters
    ----------
    first, last : int
        Texts a block at the first look and at the last (`texts_per_block`, `max_texts_per_block`).
    stop_early : bool
        Whether there is more than one look.
    most : int
        Texts a block for which there are distinct sentences.
    what : str
        What there is too little of.

    Raises
    ------
    OutOfBounds
        Naming the field to lower and the most that would do.
    """
    if stop_early and first > last:
        raise OutOfBounds(
            f"max_texts_per_block must be at least texts_per_block ({first}), not {last}", "max_texts_per_block"
        )
    field, asked = ("max_texts_per_block", last) if stop_early else ("texts_per_block", first)
    if asked > most:
        raise OutOfBounds(
            f"{field} is {asked}, but there are distinct {what} for {most} texts a block; ask for at most {most}", field
        )


def refuse_repeats(field: str, names: Sequence[str]) -> None:
    """Refuse an empty list, and a list that names something twice."""
    if not names:
        raise SpecificationError(f"{field} must name at least one", field)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise SpecificationError(f"{field} names {name!r} twice", f"{field}.{place}")
