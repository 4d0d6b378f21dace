"""Every attribute is tested by every method, or its file says why not; its words are counted; its page lists it."""

from pathlib import Path

import pytest

from assay.catalog import attribute, attributes
from assay.catalog.sentences.translated import attributes_in, sentence_languages
from assay.errors import SpecificationError
from assay.methods import METHODS, method_name
from reports.coverage import coverage
from store.ratings.experiment_json import parse_method

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attributes.md"


@pytest.mark.parametrize("name", attributes())
class TestEveryAttribute:
    @pytest.mark.parametrize("method", [method_name(kind) for kind in METHODS])
    def test_every_method_accepts_the_attribute_or_the_attributes_file_states_why_it_cannot(self, name, method):
        try:
            parse_method({"method": method, "attribute": name})
        except SpecificationError:
            assert attribute(name).without.get(method), f"{name} has no words for {method}, and no reason"
        else:
            assert method not in attribute(name).without, f"{method} accepts {name}, and its file says that it cannot"

    def test_the_coverage_table_has_a_word_count_or_a_reason_for_each_method(self, name):
        rows = {row.method: row for row in coverage(name)}
        assert list(rows) == [method_name(method) for method in METHODS]
        for method, row in rows.items():
            assert row.reason == attribute(name).without.get(method)
            assert bool(row.words) == (row.reason is None and method != "outcomes")
            assert all(counts and min(counts.values()) > 0 for counts in row.words.values())

    def test_the_page_of_attributes_lists_the_attribute_with_its_values(self, name):
        row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |"))
        assert ", ".join(attribute(name).value_names) in row


@pytest.mark.parametrize("method", ["alternation", "stimulus-sampling"])
def test_the_coverage_table_counts_sentences_in_every_language_that_has_words_for_the_attribute(method):
    languages = {row.method: set(row.words) for row in coverage("religion")}[method]
    assert languages == {"en", *(code for code in sentence_languages()[1:] if "religion" in attributes_in(code))}
    assert languages > {"en"}


def test_reasons_why_a_method_cannot_test_an_attribute_name_existing_methods():
    named = {method for name in attributes() for method in attribute(name).without}
    assert named <= {method_name(method) for method in METHODS}
