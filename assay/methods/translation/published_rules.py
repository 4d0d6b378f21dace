"""Letters of the papers' own decision rules for a component's counts, shown beside Assay's letter."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from assay.document import Json, JsonObject
from assay.methods.translation.blocks import BlockSpec
from assay.methods.translation.collection import Translations
from assay.model import Floats
from assay.statistics.hypothesis_tests.goodness import exact_multinomial
from assay.statistics.hypothesis_tests.published import (
    Aggregate,
    Reading,
    Statistic,
    divergence_letter,
    published_letter,
)

READINGS: tuple[Reading, ...] = ("similar-to-biased", "departs-from-unbiased")


@dataclass(frozen=True)
class PublishedLetters:
    """Letters by name of the published rule, ``None`` if one cannot be computed, and the rules' test results.

    `detail` is nested by analysis, block, distribution (that a request declares for a block) and statistic. `step_1_p`
    is the p-value (before `adjust`) of the hypothesis that outputs of unbiased blocks follow an unbiased distribution.
    """

    letters: Mapping[str, str | None]
    detail: Json
    step_1_p: float | None


def rule_names(statistic: Statistic, join: Aggregate) -> tuple[str, ...]:
    """Return the names of the published rules in the order of display, with the suffix ``/vote`` if they vote."""
    chi_squared = "chi-squared" if statistic == "two-sample" else f"chi-squared ({statistic})"
    suffix = "/vote" if join == "vote" else ""
    return tuple(f"{name}{suffix}" for name in (*(f"{chi_squared}/{reading}" for reading in READINGS), "kl"))


def analyse_blocks(
    translations: Translations,
    alpha: float,
    rng: np.random.Generator,
    reading: Reading = "departs-from-unbiased",
    statistic: Statistic = "two-sample",
    join: Aggregate = "worst",
) -> PublishedLetters:
    """Compute every published rule on a component's counts; the rules with this `reading` of the paper come first.

    `join` says how the results of a step's comparisons are combined: as each rule was published, or by vote. Outputs
    without a value are left out if they are harmless (`Translations.neutral`). `alpha` is the level of each test.
    """
    names = rule_names(statistic, join)
    *chi_squared_names, kl_name = names
    size = len(translations.rows) if translations.neutral else len(translations.outputs)  # number of compared outputs
    observed = {block.name: translations.by_block[block.name].sum(axis=0)[:size] for block in translations.blocks}
    block_shares = {
        role: {
            block.name: _output_shares(translations, block, size) for block in translations.blocks if block.role == role
        }
        for role in ("unbiased", "biased")
    }
    if any(counts.sum() == 0 for counts in observed.values()):
        return PublishedLetters(dict.fromkeys(names), {"reason": "a block has no outputs to compare"}, None)
    letters: dict[str, str | None] = {}
    detail: JsonObject = {}
    for rule, rule_reading in zip(chi_squared_names, READINGS, strict=True):
        verdict = published_letter(
            observed,
            block_shares["unbiased"],
            block_shares["biased"],
            rng,
            reading=rule_reading,
            statistic=statistic,
            join="vote" if join == "vote" else None,  # `None`: as the rule was published
            alpha=alpha,
        )
        letters[rule] = verdict.letter
        detail["chi-squared"] = _tests_as_json(verdict.tests)  # both readings use the same tests
    divergence = divergence_letter(observed, block_shares["unbiased"], block_shares["biased"], alpha, rng, join)
    letters[kl_name] = divergence.letter
    detail["kl"] = _tests_as_json(divergence.tests)
    unbiased_shares = block_shares["unbiased"]
    detail["exact-multinomial"] = {
        block: {name: asdict(exact_multinomial(counts, shares, rng)) for name, shares in unbiased_shares.items()}
        for block, counts in observed.items()
    }
    # False sorts before True: the rules of `reading` come first
    ordered_letters = {rule: letters[rule] for rule in sorted(names, key=lambda rule: f"/{reading}" not in rule)}
    return PublishedLetters(ordered_letters, detail, _lowest_p(unbiased_shares, detail["exact-multinomial"]))


def adjust(p_by_component: Mapping[str, float | None]) -> dict[str, dict[str, float]]:
    """Adjust the components' step-1 p-values for their number (Holm 1979; Benjamini & Hochberg 1995).

    Measured: over 8 unbiased middle languages raw p-values give a family-wise error of 0.26, Holm 0.017, BH 0.018,
    with exact p-values (docs/methods/decision-rule.md).

    Return, by name of each component with a p-value, ``p``, ``holm`` (family-wise error) and ``bh`` (false discovery
    rate).
    """
    known_p = {name: p for name, p in p_by_component.items() if p is not None}
    names = sorted(known_p, key=known_p.__getitem__)
    ascending_p, ranks = np.array([known_p[name] for name in names]), np.arange(1, len(names) + 1)
    holm = np.minimum(np.maximum.accumulate(ascending_p * ranks[::-1]), 1.0)  # step-down
    bh = np.minimum(np.minimum.accumulate((ascending_p * len(names) / ranks)[::-1])[::-1], 1.0)  # step-up
    index_by_name = {name: index for index, name in enumerate(names)}
    return {
        name: {"p": p, "holm": float(holm[index_by_name[name]]), "bh": float(bh[index_by_name[name]])}
        for name, p in known_p.items()
    }


def _output_shares(translations: Translations, block: BlockSpec, size: int) -> Floats:
    shares = [block.shares.get(row, 0.0) for row in translations.rows]
    return np.array(shares + [0.0] * (size - len(shares)))  # no text is about the residual, the last output


def _lowest_p(unbiased_blocks: Collection[str], tests: Mapping[str, Mapping[str, Json]]) -> float:
    """Return the lowest p-value over unbiased blocks, where a block's p-value is the highest of its tests."""
    return float(min(max(tests[block][name]["p"] for name in unbiased_blocks) for block in unbiased_blocks))


def _tests_as_json(tests: Mapping[str, Json]) -> dict[str, JsonObject]:
    return {block: {name: asdict(test) for name, test in block_tests.items()} for block, block_tests in tests.items()}
