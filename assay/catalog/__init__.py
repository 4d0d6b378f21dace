"""Words as data: attributes, occupations, sentence constructions and languages.

The words are in TOML files beside the modules, and each entry names its source. A file is read once, at its first use.
"""

from assay.catalog.labour import Occupation, occupations
from assay.catalog.languages import check_language, languages
from assay.catalog.templates import Construction, Frame, construction, constructions, split_sentences
from assay.catalog.values import Attribute, attribute, attributes

__all__ = [
    "Attribute",
    "Construction",
    "Frame",
    "Occupation",
    "attribute",
    "attributes",
    "check_language",
    "construction",
    "constructions",
    "languages",
    "occupations",
    "split_sentences",
]
