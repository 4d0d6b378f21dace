"""Texts of the method outcomes: templates for its reason codes."""

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "unequal-among-alike": (
        "{where:where}people of different groups get different decisions although they are alike[ ({alike})]"
        "[: {low_rate:share} of {low:value} and {high_rate:share} of {high:value} get the favourable outcome"
        "|: {low:value} is behind {high:value} by an estimated {effect:effect}]."
    ),
    "outcomes-differ": (
        "{where:where}people alike in what may matter are treated alike, but outcomes differ as people came"
        "[: {low_rate:share} of {low:value} and {high_rate:share} of {high:value} get the favourable one"
        "|: {low:value} is behind {high:value} by an estimated {effect:effect}]."
    ),
    "outcomes-even": (
        "{where:where}outcomes differ little between groups, as people came and among people alike"
        "[: as they came by an estimated {effect:effect}]."
    ),
    "letter-depends-on-threshold": (
        "{where:where}no letter is declared, because mean scores hide a difference at a threshold of the score"
        "[: {low_rate:share} of {low:value} and {high_rate:share} of {high:value} have {threshold} or more"
        "|: from {threshold} on, {low:value} is behind {high:value} by an estimated {effect:share}][ ({alike})]."
    ),
    "steps-differ": (
        "{where:where}the letter is about the end of the process only. Groups surely differ at [{steps:names}|a step], "
        "by more than is tolerated at the end or below four fifths of the highest rate."
    ),
    "rows-seem-repeated": (
        "Rows of the file seem to be repeated: the count of every combination of values is a multiple of "
        "[{times:count}|one number]. If so, the letter is too sure: remove the repetitions, or name a cluster."
    ),
    "only-outcomes-known": (
        "{where:where}the file says who got which outcome, but neither what later proved right nor what may "
        "legitimately matter. So step 1 cannot be measured, and there is no letter: the tables are the result."
    ),
    "groups-not-compared": (
        "{where:where}[among people who {alike}, |]the letter does not cover [{groups:names}|the smallest groups], "
        "with too few people to compare."
    ),
    "similar-group-names": (
        "{where:where}[{groups:names}|some groups] are probably one group: only case, blanks or invisible signs differ."
    ),
    "mostly-unknown": (
        "{where:where}[{column:value}|a column] is unknown for [{share:share} of the people|many people]"
        "[ of {group:value}], too many for a letter."
    ),
    "calibrated-but-unequal": (
        "{where:where}a score means the same in every group, but people with the same truth get unequal decisions. "
        "Where groups differ in how often the favourable decision proves right, no imperfect score can have both the "
        "same meaning in every group and equal means among people with the same truth (Kleinberg, Mullainathan & "
        "Raghavan 2016)."
    ),
}
