"""Cases: groups of recorded observations that belong together, such as the answers about one pair or one word.

`reading` has the default reader, which groups observations by the beginnings of their units; the other modules have
the readers of single methods. `index` counts and orders the cases of a rating.
"""

from reports.cases.index import UNJUDGED_KINDS, Case, CaseIndex, CaseIndexBuilder
from reports.cases.profiles import ProfileCases
from reports.cases.questions import QuestionCases
from reports.cases.reading import KINDS, CaseKind, CaseReader, CaseText, Deciding
from reports.cases.terms import TermCases
from reports.cases.translation import OneHopCases, RoundTripCases
from reports.cases.words import WordCases
from reports.cases.written import WrittenCases

__all__ = [
    "KINDS",
    "UNJUDGED_KINDS",
    "Case",
    "CaseIndex",
    "CaseIndexBuilder",
    "CaseKind",
    "CaseReader",
    "CaseText",
    "Deciding",
    "OneHopCases",
    "ProfileCases",
    "QuestionCases",
    "RoundTripCases",
    "TermCases",
    "WordCases",
    "WrittenCases",
]
