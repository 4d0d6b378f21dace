from dataclasses import replace

import pytest

from assay.catalog.choices import ChoiceWords
from assay.catalog.shipped import specifications as shipped
from assay.catalog.specification import Specification
from assay.errors import SpecificationError
from store.core.errors import NameTaken
from store.corpora import specifications

WORDS = ChoiceWords("gender", "women", "men", (("she", "he"),), {"nurse": 0.9, "porter": None}, ("window",))
NEW = Specification("ward", "Ward", "choices", "en", "ours", WORDS)


def test_a_word_specification_is_read_back_as_stored_with_its_name_added_to_its_words(database):
    with database.write() as c:
        kept = specifications.add(c, "acme", NEW)
    with database.read() as c:
        found = specifications.find(c, "acme", "ward")
    assert found == kept
    assert found.as_specification() == replace(NEW, words=replace(WORDS, name="ward"))


def test_a_word_specification_is_found_by_name_and_version_and_its_newest_version_by_name_alone(database):
    with database.write() as c:
        specifications.add(c, "acme", NEW)
        newest, made = specifications.add_version(c, "acme", replace(NEW, title="Second"))
        assert (newest.version, made) == (2, True)
        assert specifications.add_version(c, "acme", replace(NEW, title="Second")) == (newest, False)
        titles = {
            name: specifications.find_named(c, "acme", name) and specifications.find_named(c, "acme", name).title
            for name in ("ward", "ward@1", "ward@2", "ward@3", "ward@", "ward@x", "ward@99999999999", "none")
        }
    assert titles == dict.fromkeys(titles) | {"ward": "Second", "ward@1": "Ward", "ward@2": "Second"}


def test_another_tenant_can_neither_read_nor_change_a_specification(database):
    with database.write() as c:
        specifications.add(c, "acme", NEW)
        assert specifications.find(c, "rival", "ward") is None
        assert specifications.add_version(c, "rival", NEW) is None
        assert not specifications.remove(c, "rival", "ward")
        assert specifications.add(c, "rival", NEW).version == 1


def test_built_in_word_specifications_can_be_read_by_every_tenant(database):
    with database.read() as c:
        for name, ours in shipped().items():
            found = specifications.find(c, "acme", name)
            assert (found.shipped, found.version, found.as_specification()) == (True, 1, ours)
            assert specifications.find(c, "acme", name, 2) is None


def test_name_of_a_removed_specification_is_free_but_its_version_numbers_are_not_reused(database):
    with database.write() as c:
        specifications.add(c, "acme", NEW)
        with pytest.raises(NameTaken):
            specifications.add(c, "acme", replace(NEW, title="Other"))
        with pytest.raises(NameTaken):
            specifications.add(c, "acme", replace(NEW, name=next(iter(shipped()))))
        assert specifications.remove(c, "acme", "ward")
        assert not specifications.remove(c, "acme", "ward")
        assert specifications.find(c, "acme", "ward", 1) is None
        assert specifications.add(c, "acme", NEW).version == 2


def test_new_version_of_another_kind_is_refused(database):
    other = next(one for one in shipped().values() if one.kind == "association")
    with database.write() as c:
        specifications.add(c, "acme", NEW)
        with pytest.raises(SpecificationError) as caught:
            specifications.add_version(c, "acme", replace(other, name="ward"))
    assert caught.value.field == "kind"
