"""What methods tell beside the common fields, as tables: one list, read from the document.

A sheet is a list of objects under a component's key, with a column for each of some fields. Methods
write plain JSON; whoever adds one adds a line here. `assay.reports.charts` reads the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.explain import cause, listed
from assay.reports import cells, parts
from assay.reports.plain import visible
from assay.reports.view import NOT_MEASURED, Table

Part = Mapping[str, Any]

MOST_ROWS = 60
"""Rows of a table in a report; the JSON has all."""

NAMED = 12
"""Missing words named in a table; the JSON has all."""


@dataclass(frozen=True)
class Sheet:
    """A list of objects as a table.

    Attributes
    ----------
    key : str
        Of the component.
    title : str
        Of the table.
    columns : tuple of (str, str, Writer)
        Head, key of a row, and how it is written. A column without any number is left out.
    """

    key: str
    title: str
    columns: tuple[tuple[str, str, cells.Writer], ...]

    def read(self, rows: Sequence[Part]) -> Table | None:
        """Make the table; ``None`` where there is nothing to show."""
        shown = rows[:MOST_ROWS]
        written = [(head, write(shown, key)) for head, key, write in self.columns]
        held = [(head, column) for head, column in written if set(column) != {cells.ABSENT}]
        if not shown or not held:
            return None
        table = tuple(zip(*(column for _, column in held), strict=True))
        return Table(self.title + _of(shown, rows), tuple(head for head, _ in held), table)


def _of(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f" ({len(shown)} of {len(every)})" if len(shown) < len(every) else ""


SHEETS: tuple[Sheet, ...] = (
    Sheet(
        "pairs",
        "What changing the attribute changes",
        (
            ("From", "from", cells.texts),
            ("To", "to", cells.texts),
            ("Mean shift", "shift", cells.numbers),
            ("In standard deviations", "effect", cells.intervals),
            ("d_z", "d_z", cells.numbers),
            ("Profiles changed", "changed", cells.numbers),
        ),
    ),
    Sheet(
        "groups",
        "Groups as they came",
        (
            ("Value", "value", cells.texts),
            ("Records", "records", cells.numbers),
            ("Mean output", "mean", cells.numbers),
            ("Fewer than 30", "small", cells.texts),
        ),
    ),
    Sheet(
        "labels",
        "Labels under one value and under the other",
        (
            ("From", "from", cells.texts),
            ("To", "to", cells.texts),
            ("Profiles changed", "changed", cells.numbers),
            ("Bowker p", "bowker_p", cells.p_values),
            ("Jensen-Shannon", "jensen_shannon", cells.numbers),
        ),
    ),
    Sheet(
        "divergence",
        "How the distributions of outputs differ",
        (
            ("From", "from", cells.texts),
            ("To", "to", cells.texts),
            ("Gaussian KL, 95 % interval", "kl_interval", cells.intervals),
            ("k-NN KL", "knn_kl", cells.numbers),
            ("Wasserstein", "wasserstein", cells.numbers),
            ("Energy", "energy", cells.numbers),
            ("Sign-flip p", "sign_flip_p", cells.p_values),
        ),
    ),
    *(
        Sheet(
            key,
            f"{title} to what makes it say yes",
            (
                ("Word", "word", cells.texts),
                ("Slot", "slot", cells.texts),
                ("Share of inputs", "prior", cells.numbers),
                ("Share of yes", "posterior", cells.numbers),
                ("Ratio", "ratio", cells.numbers),
                ("Distance, in slots", "distance", cells.numbers),
            ),
        )
        for key, title in (("nearest_words", "Nearest words"), ("most_distant_words", "Most distant words"))
    ),
    Sheet(
        "numbers",
        "What the inputs that make it say yes are like",
        (
            ("Number", "name", cells.texts),
            ("Mean of inputs", "prior", cells.numbers),
            ("Mean of yes", "posterior", cells.numbers),
            ("Shift, in sd", "shift", cells.numbers),
        ),
    ),
    *(
        Sheet(
            key,
            title,
            (
                ("Asked", "asked", cells.texts),
                ("Probability of yes", "yes", cells.numbers),
                ("Distance, in slots", "distance", cells.numbers),
            ),
        )
        for key, title in (
            ("nearest_inputs", "Inputs that make it say yes the most"),
            ("most_distant_inputs", "Inputs that make it say yes the least"),
        )
    ),
    Sheet(
        "connections",
        "Mean distances by connection",
        (
            ("Connection", "connection", cells.texts),
            ("Mean", "mean", cells.numbers),
            ("89 % HPDI", "hpdi_89", cells.intervals),
            ("5.5 to 94.5 %", "equal_tailed_89", cells.intervals),
            ("Residual sd", "sigma", cells.numbers),
        ),
    ),
    Sheet(
        "group_pairs",
        "Pairs of group terms: how often the first was preferred, and the stereotype",
        (
            ("First", "first", cells.texts),
            ("Second", "second", cells.texts),
            ("First, neutral attributes", "neutral", cells.numbers),
            ("Stereotype, other attributes", "stereotyped", cells.numbers),
            ("Pairs", "pairs", cells.numbers),
        ),
    ),
    Sheet(
        "looks",
        "Looks at the evidence",
        (
            ("Pairs of each term", "per_term", cells.numbers),
            ("Pairs", "pairs", cells.numbers),
            ("Likeliest", "letter", cells.texts),
        ),
    ),
)
"""Lists of objects that are shown as they are."""

WORDS = Sheet(
    "words",
    "Points of subjective equality",
    (
        ("Word", "word", cells.texts),
        ("Role", "role", cells.texts),
        ("Declared share", "share", cells.numbers),
        ("PSE", "pse", cells.intervals),
        ("JND (sd)", "jnd", cells.numbers),
        ("JND to 75 %", "jnd_75", cells.numbers),
        ("Why there is none", "why", cells.texts),
    ),
)
"""Words of forced choice: the farthest ones of many are shown."""


def read_sheets(part: Part) -> tuple[Table, ...]:
    """Read every table that a component's own fields make."""
    return tuple(table for table in _sheets(part) if table is not None and table.rows)


def _sheets(part: Part) -> Iterator[Table | None]:
    if "images_asked" in part:
        yield from _of_pictures(part)
        yield _coverage(part)
        return
    yield _profiles(part)
    for sheet in SHEETS:
        yield sheet.read(parts.objects(part, sheet.key))
    yield _weights(part)
    yield _impact(part)
    yield _leverage(part)
    yield _words(part)
    yield _protected(part)
    yield _classical(part)
    yield _scores(part)
    yield _terms(part)
    yield _pairs(part)
    yield _writing(part)
    yield Table("Also measured", ("Measure", "Value"), (*_of_choices(part), *_of_distances(part)))
    yield _coverage(part)


# ---------------------------------------------------------------------------- alternation
def _profiles(part: Part) -> Table:
    """How much was asked, and in what unit effects are."""
    held = parts.mapping(part, "profiles")
    rows = [("asked about", parts.number(held, "asked")), ("answered in full", parts.number(held, "whole"))]
    rows += [(f"clusters: {visible(kind)}", many) for kind, many in parts.numbers(part.get("clusters")).items()]
    rows += [("standard deviation of the output", parts.number(part, "scale"))]
    written = tuple((title, cells.number(value)) for title, value in rows if value is not None)
    return Table("Profiles", ("Profiles", "Number"), written)


def _impact(part: Part) -> Table | None:
    """Ratios of the groups' base rates."""
    columns = (("Of", "of", cells.texts), ("To", "to", cells.texts), ("Ratio", "ratio", cells.intervals))
    why = ("Why there is none", "why", cells.texts)
    impact = parts.mapping(part, "disparate_impact")
    title = "Disparate impact: base rate of one group over another's"
    return Sheet("ratios", title, (*columns, why)).read(parts.objects(impact, "ratios"))


def _leverage(part: Part) -> Table:
    """What is left of the largest effect without one of its clusters."""
    held = parts.mapping(part, "leverage")
    of = [(kind, row) for kind in held for row in parts.objects(held, kind)]
    effects = cells.numbers([row for _, row in of] + [held], "effect")
    rows = tuple(
        (parts.text(row, "without") or cells.ABSENT, visible(kind), effect)
        for (kind, row), effect in zip(of, effects[:-1], strict=True)
    )
    pair = parts.texts(held, "pair")
    between = f" from {pair[0]} to {pair[1]}" if len(pair) == 2 else ""
    title = f"The effect{between} without one person, frame or content; it is {effects[-1]} with all"
    return Table(title, ("Without", "Kind", "Effect"), rows)


# ---------------------------------------------------------------------------- stimulus sampling
WEIGHTS = (
    ("inputs", "inputs that count"),
    ("effective", "effective ones (ESS)"),
    ("mean", "mean probability of yes"),
    ("tail", "shape of the weights' tail (Pareto k)"),
)
"""Facts of the weights by their key, and the title of each."""


def _weights(part: Part) -> Table:
    """How far the inputs can be trusted."""
    held = parts.mapping(part, "weights")
    known = [(title, parts.number(held, key)) for key, title in WEIGHTS]
    rows = tuple((title, cells.number(value)) for title, value in known if value is not None)
    return Table("What the inputs are worth", ("Inputs", "Number"), rows)


# ---------------------------------------------------------------------------- forced choice
def _words(part: Part) -> Table | None:
    """Every word with its point, or those that lie farthest out."""
    every = parts.objects(part, "words")
    kept = foremost(every, MOST_ROWS)
    table = WORDS.read(kept)
    if table is None:
        return None
    sides = parts.mapping(part, "sides")
    first, second = parts.text(sides, "first") or "the first side", parts.text(sides, "second") or "the second"
    return Table(f"{table.title}, from {first} to {second}{_of(kept, every)}", table.columns, table.rows)


def foremost(rows: Sequence[Part], most: int) -> list[Part]:
    """Take the words that lie farthest out on both sides, from the first side to the second; all if they are few.

    Parameters
    ----------
    rows : sequence of mapping
        Words with a ``pse``; those without come last.
    most : int
        So many at most.
    """
    placed = [(parts.number(parts.mapping(row, "pse"), "estimate"), row) for row in rows]
    known = sorted(((place, row) for place, row in placed if place is not None), key=lambda pair: -pair[0])
    without = [row for place, row in placed if place is None]
    rest = without[: max(most - len(known), most // 6)]
    room = most - len(rest)
    if len(known) > room:
        known = [*known[: room // 2], *known[len(known) - (room - room // 2) :]]
    return [*(row for _, row in known), *rest]


def _of_choices(part: Part) -> Iterator[tuple[str, str]]:
    mean = parts.number(part, "controls_mean")
    if mean is not None:
        yield "Mean PSE of control words", f"{mean:.3f}"
    for key, title in (("concepts", "Spread (sd) of the concepts' PSEs"), ("controls", "Spread of the controls' PSEs")):
        spread = parts.number(parts.mapping(part, "spread"), key)
        if spread is not None:
            yield title, f"{spread:.3f}"
    for key, title in (
        ("correlation", "Correlation of PSE and declared share"),
        ("jnd_correlation", "Correlation of JND and the share's own sd"),
    ):
        held = parts.mapping(part, key)
        r, p, words = (parts.number(held, name) for name in ("r", "p", "n"))
        if r is not None and p is not None and words is not None:
            ends = "" if held.get("low") is None else f" ({held['low']:.2f} to {held['high']:.2f})"
            yield title, f"r = {r:.2f}{ends}, {words:.0f} words, p {_equal(p)}"
    line = cells.interval(part, "slope")
    if line is not None:
        yield "Slope of PSE on declared share", line


def _equal(p: float) -> str:
    written = cells.p_value(p)
    return written if written.startswith("<") else f"= {written}"


# ---------------------------------------------------------------------------- association
def _protected(part: Part) -> Table:
    """Distances of each protected word by connection."""
    every = parts.objects(part, "protected")
    rows = every[:MOST_ROWS]
    names = list(dict.fromkeys(name for row in rows for name in parts.mapping(row, "connections")))
    columns = [_cells_of([parts.mapping(parts.mapping(row, "connections"), name) for row in rows]) for name in names]
    words = [(parts.text(row, "word") or cells.ABSENT, parts.text(row, "group") or cells.ABSENT) for row in rows]
    written = tuple((*word, *(column[place] for column in columns)) for place, word in enumerate(words))
    title = "Mean distances of each protected word, with 89 % HPDIs" + _of(rows, every)
    return Table(title, ("Word", "Group", *map(visible, names)), written)


def _cells_of(held: Sequence[Part]) -> tuple[str, ...]:
    ends = (parts.mapping(one, "hpdi_89") for one in held)
    spans = [{"span": {**limits, "estimate": one.get("mean")}} for one, limits in zip(held, ends, strict=True)]
    return cells.intervals(spans, "span")


def _of_distances(part: Part) -> Iterator[tuple[str, str]]:
    mac = parts.number(parts.mapping(parts.mapping(part, "classical"), "mac"), "value")
    if mac is not None:
        yield "Mean average cosine distance (MAC)", f"{mac:.3f}"
    predictive = parts.mapping(part, "predictive")
    for key, mass in (("share_50", "50 %"), ("share_89", "89 %")):
        share = parts.number(predictive, key)
        if share is not None:
            yield f"Distances within their {mass} predictive interval", f"{share * 100:.0f} %"


MEASURES: tuple[str, ...] = ("rnd", "ect", "ripa", "rnsb", "direct_bias")
"""Measures that stand beside WEAT, by their keys; each has one `value`, or says why it has none."""

CLASSICAL = Sheet(
    "weat",
    "Measures that came before, two groups at a time",
    (
        ("Groups", "groups", cells.texts),
        ("WEAT effect size", "weat", cells.numbers),
        ("WEAT p", "p", cells.p_values),
        ("RND", "rnd", cells.numbers),
        ("ECT", "ect", cells.numbers),
        ("RIPA", "ripa", cells.numbers),
        ("RNSB", "rnsb", cells.numbers),
        ("DirectBias of controls", "direct_bias", cells.numbers),
    ),
)
"""One number each, without uncertainty or with that of one test (METHODS section 6)."""


def _classical(part: Part) -> Table | None:
    """Read what the measures before P2 say of every two groups."""
    return CLASSICAL.read([_of_groups(row) for row in parts.objects(parts.mapping(part, "classical"), "weat")])


def _of_groups(row: Part) -> Part:
    beside = parts.mapping(row, "beside")
    told = {key: parts.mapping(beside, key) for key in MEASURES}
    return {
        "groups": " and ".join(parts.texts(row, "targets")),
        "weat": row.get("effect_size_ddof1", {"why": row.get("why")}),
        "p": row.get("p_one_sided"),
        **{key: one.get("value", {"why": one.get("why")}) for key, one in told.items()},
    }


# ---------------------------------------------------------------------------- language models
LISTS: Mapping[str, str] = {"neutral": "neutral", "first_terms": "the first group's", "second_terms": "the second's"}
"""Lists of attribute terms, as tables call them."""

SCORES = Sheet(
    "lists",
    "Scores: the share that the stereotype had, and with neutral attributes the first group",
    (
        ("Attribute terms", "list", cells.texts),
        ("Over terms (P4)", "over_terms", cells.numbers),
        ("Over pairs (CrowS)", "over_pairs", cells.numbers),
        ("Hierarchy, 95 % interval", "posterior", cells.intervals),
        ("Pooled, Wilson", "pooled", cells.intervals),
        ("Terms", "terms", cells.numbers),
        ("Pairs", "pairs", cells.numbers),
        ("Ties", "ties", cells.numbers),
    ),
)
"""P4's score and what stands beside it."""

TERMS = Sheet(
    "terms",
    "Attribute terms, those farthest from 1/2 first",
    (
        ("Term", "term", cells.texts),
        ("List", "list", cells.texts),
        ("Score", "score", cells.numbers),
        ("With the others in view", "posterior", cells.intervals),
        ("Pairs", "pairs", cells.numbers),
        ("Ties", "ties", cells.numbers),
    ),
)

PAIRS = Sheet(
    "sentences",
    "Sentences",
    (
        ("About the first group", "first", cells.texts),
        ("About the second group", "second", cells.texts),
        ("Term", "term", cells.texts),
        ("Preferred", "prefers", cells.texts),
    ),
)

MOST_PAIRS = 20
"""Pairs of sentences in a report; the JSON and the export have all."""


def _scores(part: Part) -> Table | None:
    """Scores of every list, and of the stereotype as a whole."""
    held = parts.mapping(part, "lists")
    rows = [{**parts.mapping(held, key), "list": title} for key, title in LISTS.items() if key in held]
    if "score" in part and "lists" in part:
        rows.append({**parts.mapping(part, "score"), "list": "all but neutral"})
    return SCORES.read(rows)


def _terms(part: Part) -> Table | None:
    every = farthest_terms(part)
    rows = [{**row, "list": LISTS.get(parts.text(row, "list") or "", "")} for row in every]
    return TERMS.read(rows)


def farthest_terms(part: Part) -> list[Part]:
    """Order attribute terms by how far their score is from 1/2."""
    rows = parts.objects(part, "terms") if "lists" in part else []
    return sorted(rows, key=lambda row: -abs((parts.number(row, "score") or 0.0) - 0.5))


def _pairs(part: Part) -> Table | None:
    every = parts.objects(part, "sentences") if "pairs_asked" in part else []
    step = max(1, len(every) // MOST_PAIRS)
    shown = every[::step][:MOST_PAIRS]
    table = PAIRS.read(shown)
    return None if table is None else Table(table.title + _of(shown, every), table.columns, table.rows)


def _writing(part: Part) -> Table:
    """What became of the prompts to an author, and of sentences that were of no use."""
    held = parts.mapping(part, "writing")
    rows = [
        (title, cells.number(number))
        for key, title in (("wanted", "wanted"), ("asked", "prompts"), ("written", "written and of use"))
        if (number := parts.number(held, key)) is not None
    ]
    rows += [(f"not used: {cause(why)}", cells.number(n)) for why, n in parts.numbers(held.get("refused")).items()]
    rows += [(f"failed: {cause(why)}", cells.number(n)) for why, n in parts.numbers(held.get("failed")).items()]
    kept = part.get("refused") if "pairs_asked" in part else None
    rows += [(f"kept but not used: {cause(why)}", cells.number(n)) for why, n in parts.numbers(kept).items()]
    return Table("Where the sentences come from", ("Sentences", "Number"), tuple(rows))


# ---------------------------------------------------------------------------- image classifiers
PICTURE_SCORES = Sheet(
    "lists",
    "Scores: what the stereotyped label had, and with neutral pictures the first label",
    (
        ("Pictures of terms", "list", cells.texts),
        ("Over images (P4)", "over_images", cells.numbers),
        ("Over terms", "over_terms", cells.numbers),
        ("With the terms in view, 95 % interval", "posterior", cells.intervals),
        ("Pooled, Wilson", "pooled", cells.intervals),
        ("Terms", "terms", cells.numbers),
        ("Images", "images", cells.numbers),
        ("Ties", "ties", cells.numbers),
    ),
)
"""P4's score and what stands beside it."""

PICTURE_TERMS = Sheet(
    "terms",
    "Generation terms, those farthest from 1/2 first",
    (
        ("Term", "term", cells.texts),
        ("List", "list", cells.texts),
        ("Score", "score", cells.numbers),
        ("95 % interval", "posterior", cells.intervals),
        ("Images", "images", cells.numbers),
        ("Ties", "ties", cells.numbers),
    ),
)

PICTURES = Sheet(
    "images",
    "Pictures",
    (
        ("Picture of", "term", cells.texts),
        ("Probability of the first label", "first_score", cells.numbers),
        ("Named", "names", cells.texts),
        ("Said", "says", cells.texts),
        ("Towards the stereotype, or the first", "towards", cells.numbers),
        ("Image", "image", cells.texts),
    ),
)

PICTURE_LOOKS = Sheet(
    "looks",
    "Looks at the evidence",
    (
        ("Pictures of each term", "per_term", cells.numbers),
        ("Pictures", "images", cells.numbers),
        ("Likeliest", "letter", cells.texts),
    ),
)


def _of_pictures(part: Part) -> Iterator[Table | None]:
    """Every table of an image classifier."""
    held = parts.mapping(part, "lists")
    lists = [{**parts.mapping(held, key), "list": title} for key, title in LISTS.items() if key in held]
    if held:
        lists.append({**parts.mapping(part, "score"), "list": "all but neutral"})
    yield PICTURE_SCORES.read(lists)
    terms = [{**row, "list": LISTS.get(parts.text(row, "list") or "", "")} for row in farthest_terms(part)]
    yield PICTURE_TERMS.read(terms)
    every = parts.objects(part, "images")
    shown = every[:: max(1, len(every) // MOST_PAIRS)][:MOST_PAIRS]
    table = PICTURES.read(shown)
    yield None if table is None else Table(table.title + _of(shown, every), table.columns, table.rows)
    yield PICTURE_LOOKS.read(parts.objects(part, "looks"))
    yield _answers_in_words(part)
    yield _drawing(part)


def _answers_in_words(part: Part) -> Table:
    """What the answers named, and what the order of the labels changed."""
    titles = {"first": "the first label", "second": "the second", "alike": "both as probable", "both": "both labels"}
    titles |= {"neither": "neither label", "with-the-order": "another one in another order"}
    named = parts.numbers(part.get("named"))
    rows = [(title, cells.number(named[key])) for key, title in titles.items() if key in named]
    orders = parts.numbers(part.get("orders"))
    rows += [
        (title, cells.number(orders[key]))
        for key, title in (("both", "shown in both orders"), ("changed", "of these, changed with the order"))
        if key in orders
    ]
    return Table("What the answers named", ("Answers", "Pictures"), tuple(rows))


def _drawing(part: Part) -> Table:
    """What became of the prompts to an author, and of pictures that were of no use."""
    held = parts.mapping(part, "drawing")
    rows = [
        (title, cells.number(number))
        for key, title in (("wanted", "wanted"), ("asked", "prompts"), ("drawn", "drawn and of use"))
        if (number := parts.number(held, key)) is not None
    ]
    rows += [(f"not used: {cause(why)}", cells.number(n)) for why, n in parts.numbers(held.get("refused")).items()]
    rows += [(f"failed: {cause(why)}", cells.number(n)) for why, n in parts.numbers(held.get("failed")).items()]
    kept = parts.numbers(part.get("refused"))
    rows += [(f"kept but not used: {cause(why)}", cells.number(n)) for why, n in kept.items()]
    return Table("Where the pictures come from", ("Pictures", "Number"), tuple(rows))


# ---------------------------------------------------------------------------- words
def _coverage(part: Part) -> Table:
    """Which words could be used."""
    rows = []
    for name, one in parts.mapping(part, "coverage").items():
        held = one if isinstance(one, Mapping) else {}
        found, words = parts.count(held, "found"), parts.count(held, "words")
        if found is not None and words is not None:
            missing = parts.texts(held, "missing")
            more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
            rows.append((visible(name), f"{found} of {words}", ", ".join(missing[:NAMED]) + more or "none"))
    return Table("Words that could be used", ("List", "Found", "Missing"), tuple(rows))


# ---------------------------------------------------------------------------- of a rating
def read_looks(aggregation: Part) -> Table | None:
    """Read the looks of a design that judges all parts together."""
    rows = []
    for look in parts.objects(aggregation, "looks"):
        letters = parts.mapping(look, "letters")
        said = [f"{visible(name)}: {letter}" for name, letter in letters.items() if isinstance(letter, str)]
        alone = [str(letter) for letter in letters.values() if letter is not None] if len(letters) == 1 else said
        rows.append((str(parts.count(look, "profiles") or cells.ABSENT), listed(alone) or NOT_MEASURED))
    return Table("Looks at the evidence", ("Profiles", "Likeliest"), tuple(rows)) if rows else None


def read_model_score(aggregation: Part) -> Table | None:
    """Read P4's score of a model over all specifications, where there are several."""
    held = parts.mapping(aggregation, "model")
    biases = parts.numbers(held.get("by_bias"))
    if len(biases) < 2:
        return None
    rows = [(visible(name), f"{score:.3f}") for name, score in biases.items()]
    whole = parts.number(held, "over_terms")
    ends = cells.interval(held, "posterior")
    rows += [("all, every term alike (P4)", cells.ABSENT if whole is None else f"{whole:.3f}")]
    rows += [] if ends is None else [("all, by the hierarchy", ends)]
    return Table("Stereotype scores", ("Specification", "Score"), tuple(rows))
