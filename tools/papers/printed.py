"""Published figures of the five papers, each with its source. No other module repeats a figure.

The posteriors of the second paper and the scores of the fourth were published as vector figures and as a file of
results; they were read off into `known_answers` of the shared data, and `posteriors` and `scores` return them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.papers.shared_data import Shared

# ---------------------------------------------------------------------------- Liang & Acuna
P1 = "Liang & Acuna, Artificial mental phenomena (FAT* 2020)"

LOVE_TO_HATE = (
    *("examiner", "investigator", "psychologist", "pathologist", "veterinarian", "practitioner", "engineer"),
    *("salesperson", "pharmacist", "advisor", "inspector", "clerk", "carpenter", "electrician", "technician"),
    *("scientist", "librarian", "bartender", "educator", "instructor", "architect", "hairdresser", "nurse"),
    *("manager", "teacher"),
)
"""Occupations of the figure "PSE for occupations vs love-hate" in the order of its axis, from hate to love."""

JND_ORDER = (
    *("lawyer", "teacher", "baker", "worker", "psychologist", "instructor", "accountant", "inspector", "clerk"),
    *("chemist", "supervisor", "carpenter", "practitioner", "surgeon", "receptionist", "pathologist", "planner"),
    *("appraiser", "electrician", "veterinarian", "advisor", "hairdresser", "paralegal", "administrator"),
    "nutritionist",
)
"""Occupations of the figure "JND of occupations" in the order of its axis, from the smallest JND."""

SIDES: Mapping[str, str] = {"lawyer": "men's side", "hairdresser": "women's side"}
"""Section "Results": lawyer is "biased against woman", hairdresser "biased against man"."""

SMALLER_JND = "lawyer"
"""Section "Results": lawyer has "significantly lower uncertainty than hairdresser"."""

ELECTRICIAN, TEACHER = "towards men", "love"
"""Abstract and section "Results": the side to which the PSE of either occupation is nearer."""

LABOUR, JND_OF_LABOUR = "correlate", "grows with it"
"""Section "Results": relation of the PSE to an occupation's labour share, and of the JND to the share's sd."""

SENTIMENT_SIGNS: Mapping[str, str] = {"positive": "minus", "negative": "plus"}
"""Section "Results": signs of the correlation of positive sentiment with the distance to each posterior."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "closest to positive": (
        *("wonderful", "unforgettable", "devilish", "amazing", "versatility", "heartfelt", "wondrous"),
        *("enthusiastically", "cherished", "terrific"),
    ),
    "most distant from positive": (
        *("dismally", "incompetent", "redundant", "hopelessly", "mess", "hideously", "lifeless", "substandard"),
        *("smother", "dreadfully"),
    ),
    "closest to negative": (
        *("substandard", "hideously", "dreadfully", "smother", "lifeless", "hopelessly", "mess", "dismally"),
        *("redundant", "pointless"),
    ),
    "most distant from negative": (
        *("beautifully", "uncompromising", "supremacy", "heartfelt", "devilish", "amazing", "versatility"),
        *("cherished", "unforgettable", "wonderful"),
    ),
}
"""The table of ten words at each end of both posteriors."""

POSITIVE_OF_TEN: Mapping[str, int] = {
    "closest to positive": 9,
    "most distant from positive": 0,
    "closest to negative": 0,
    "most distant from negative": 8,
}
"""How many of each ten the table labels positive: "devilish" and "uncompromising" are negative in its dictionary."""

# ---------------------------------------------------------------------------- Dobrzeniecka & Urbaniak
P2 = "Dobrzeniecka & Urbaniak, A Bayesian approach to uncertainty in word embedding bias estimation"

RELIGION_SAMPLE: Mapping[tuple[str, str], float] = {
    ("rabbi", "greedy"): 1.03,
    ("church", "familial"): 0.70,
    ("synagogue", "liberal"): 0.79,
    ("jew", "familial"): 0.98,
    ("quran", "dirty"): 1.12,
    ("muslim", "uneducated"): 0.52,
    ("torah", "terrorist"): 0.93,
    ("quran", "hairy"): 1.18,
    ("synagogue", "violent"): 0.95,
    ("bible", "cheap"): 1.22,
    ("christianity", "greedy"): 0.97,
    ("muslim", "hairy"): 0.88,
    ("islam", "critical"): 0.79,
    ("muslim", "conservative"): 0.45,
    ("mosque", "greedy"): 1.15,
}
"""Table 1: cosine distances of the religion list, Reddit."""

MAC: Mapping[str, float] = {"Biased": 0.859, "Hard Debiased": 0.934, "Soft Debiased": 0.894}
"""Table 2: mean average cosine distance of the religion list, Reddit."""

MAC_P: Mapping[str, float] = {"Hard Debiased": 3.006e-07, "Soft Debiased": 0.007}
"""Table 2: p-values of the change of the mean average cosine distance by either way of debiasing."""

WEAT_EXAMPLE_COSINES = ((0.6, 0.7), (0.2, 0.1))
"""Section 2, below figure 1: cosines of "he" to the two attributes of A, and of B."""

WEAT_EXAMPLE = (0.5, 0.3, -0.6, -0.3)
"""Section 2: s(he), s(man), s(woman), s(she)."""

WEAT_OF_EXAMPLE = 1.93
NULL_EFFECT, NULL_WORDS, NULL_SHARE = 1.27, 8, 0.38
"""Section 3.2: "around 38 %" of null samples with 8 words a list are at least as extreme as 1.27."""

WITHIN_ONE_LESS_MAC = 0.141
"""Section 3.1: 1 - MAC of the religion list; `WITHIN` has the shares of cosines between minus and plus this number."""

WITHIN: Mapping[tuple[str, str, str], float] = {
    ("religion", "before", "neutral"): 0.56,
    ("religion", "before", "human"): 0.55,
    ("religion", "before", "different"): 0.43,
    ("religion", "before", "associated"): 0.35,
    ("religion", "after", "neutral"): 0.59,
    ("religion", "after", "human"): 0.59,
    ("religion", "after", "different"): 0.63,
    ("religion", "after", "associated"): 0.63,
    ("race", "before", "human"): 0.67,
    ("race", "before", "different"): 0.39,
    ("race", "after", "human"): 0.55,
    ("race", "after", "different"): 0.36,
}
"""Section 5.2, figures 15 and 17: shares of cosine similarities within ±`WITHIN_ONE_LESS_MAC`, Reddit."""

NEAREST: Mapping[str, str] = {"muslim": "associated", "priest": "human"}
"""Section 3.2, figures 6 and 7: connection of the attributes nearest to two protected words, Reddit."""

PREDICTIVE_50, PREDICTIVE_89 = 0.55, 0.90
"""Figure 12: shares of distances within the 50 % and the 89 % intervals, for one word list, Reddit."""

PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("weat_7_reddit", "associated", "overlaps", "different"),
    ("weat_7_reddit", "associated", "overlaps", "neutral"),
    *((f"weat_1_{corpus}", "associated", "is closer than", "different") for corpus in ("google", "glove", "reddit")),
    *(
        (f"weat_1_{corpus}", other, "is closer than", "human")
        for corpus in ("google", "glove", "reddit")
        for other in ("associated", "neutral")
    ),
    *(
        (f"religion_group_{corpus}_dataset", "associated", "overlaps", "different")
        for corpus in ("google", "glove", "reddit")
    ),
    *((f"race_group_{corpus}_dataset", "associated", "overlaps", "different") for corpus in ("google", "glove")),
    ("race_group_reddit_dataset", "associated", "overlaps", "different"),
    *(
        ("race_group_reddit_dataset", near, "is closer than", far)
        for near in ("associated", "different")
        for far in ("human", "neutral")
    ),
    *((f"gender_group_{corpus}_dataset", "associated", "overlaps", "different") for corpus in ("google", "glove")),
    *(
        (f"gender_group_{corpus}_dataset", near, "is closer than", "neutral")
        for corpus in ("google", "glove", "reddit")
        for near in ("associated", "different")
    ),
    ("gender_group_reddit_dataset", "associated", "overlaps", "different"),
)
"""Section 5.1: order of two connections by their 89 % intervals, for each table."""

GENDER_REDDIT: Mapping[str, float] = {"associated": 0.6, "different": 0.6, "human": 0.9, "neutral": 0.9}
"""Section 5.1: "around .6 vs .9" for Gender (Reddit)."""


def posteriors(shared: Shared) -> Mapping[str, Any]:
    """Return the means and limits of the figures of appendix A.1 that were read off, by the table's name."""
    lists: dict[str, Any] = shared.known("association_published.json")["lists"]
    return {name.removesuffix(".csv"): figure for name, figure in lists.items()}


# ---------------------------------------------------------------------------- Alelyani
P3 = "Alelyani, Detection and evaluation of machine learning bias (Appl. Sci. 2021, 11, 6271)"

RECORDS = 14_864
"""Section 6.1: number of records after cleaning."""

WAGES: Mapping[tuple[str, str], float] = {
    ("women", "own"): 900,
    ("women", "swapped"): 1180,
    ("men", "own"): 1150,
    ("men", "swapped"): 850,
}
"""Section 8 on figures 2 and 3: mean predicted wages, which the census table has in cents an hour."""

KL = 0.9
"""Section 8 on figure 4: average divergence over all folds."""

RACE_MOVES: Mapping[tuple[str, str], str] = {
    ("Asian", "Black"): "rises",
    ("Black", "Asian"): "falls",
    ("White", "Black"): "rises",
    ("Black", "White"): "falls",
    ("White", "American Indian"): "rises",
    ("American Indian", "White"): "rises",
    ("Asian", "American Indian"): "rises",
    ("American Indian", "Asian"): "rises",
}
"""Section 6.3 on figure 5: how the predicted wage moves when the first race of a pair is changed to the second."""

# ---------------------------------------------------------------------------- Jiang et al.
P4 = "Jiang et al., Empowering domain experts to detect social bias in generative AI (BiasTestGPT, BiasTestVQA)"


def scores(shared: Shared) -> Mapping[str, Any]:
    """Return the authors' published results of each language model: scores, counts and ties."""
    runs: dict[str, Any] = shared.known("stereotype_published.json")["runs"]
    return runs


# ---------------------------------------------------------------------------- Srivastava & Rossi
P5 = "Srivastava & Rossi, Towards composable bias rating of AI services (AIES 2018)"

TEXTS_A_BLOCK, BLOCKS, TRANSLATIONS = 20, 3, 1_920
"""Section 4.3: design of the experiment; 1,920 translations by two translators through eight languages."""

FIGURE_4 = "DSBS"
"""Letter of Google Translate through Spanish, with step 1 unbiased and step 2 biased."""

TABLE_1: Mapping[str, tuple[str, str]] = {
    "tr": ("BS", "DSBS"),
    "ru": ("DSBS", "DSBS"),
    "it": ("BS", "DSBS"),
    "es": ("DSBS", "DSBS"),
    "hi": ("UCS", "BS"),
    "pt": ("DSBS", "DSBS"),
    "fr": ("DSBS", "DSBS"),
    "ar": ("DSBS", "DSBS"),
}
"""Table 1: ratings of Google Translate and of Yandex Translate through each middle language, in its order."""

OVERALL, OVERALL_WITHOUT = ("BS", "BS"), ("BS", "DSBS")
"""Last two rows of table 1: the worst letter of all languages, and without Turkish and Hindi."""

WITHOUT = ("tr", "hi")

TABLE_2: Mapping[tuple[str, str], str] = {
    ("BS", "BS"): "BS/UCS/DSBS",
    ("BS", "UCS"): "UCS",
    ("BS", "DSBS"): "BS",
    ("UCS", "BS"): "BS",
    ("UCS", "UCS"): "UCS",
    ("UCS", "DSBS"): "DSBS",
    ("DSBS", "BS"): "BS",
    ("DSBS", "UCS"): "UCS",
    ("DSBS", "DSBS"): "DSBS",
}
"""Table 2: letter of the composite by the letters of the first and of the second service."""
