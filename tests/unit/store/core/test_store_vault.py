import stat
import threading

import pytest

from store.core.columns import SealedSecret
from store.core.errors import SecretLost, SecretMoved
from store.core.settings import Settings
from store.security.secrets import KEY_FILE, Vault

PLACE = {"tenant": "acme", "target": "tgt_1", "field": "secret"}
OLD, NEW = b"o" * 32, b"n" * 32


def test_what_is_sealed_opens_in_its_place_and_shows_four_characters_at_most():
    sealed = Vault(NEW, "new").seal("sk-0123456789abcdef", **PLACE)
    assert (sealed.last4, sealed.key_id) == ("cdef", "new")
    assert b"0123456789" not in sealed.ciphertext
    assert Vault(NEW, "new").open(sealed, **PLACE) == "sk-0123456789abcdef"


@pytest.mark.parametrize(
    ("secret", "shown"), [("", ""), ("abc", ""), ("abcd", "d"), ("abcdefgh", "gh"), ("x" * 99, "xxxx")]
)
def test_of_a_short_secret_a_quarter_at_most_is_shown(secret, shown):
    assert Vault(NEW, "new").seal(secret, **PLACE).last4 == shown


def test_the_same_secret_is_never_sealed_the_same_way_twice():
    vault = Vault(NEW, "new")
    assert vault.seal("secret", **PLACE).ciphertext != vault.seal("secret", **PLACE).ciphertext


@pytest.mark.parametrize(("part", "other"), [("tenant", "rival"), ("target", "tgt_2"), ("field", "webhook")])
def test_a_secret_moved_to_another_place_does_not_open(part, other):
    vault = Vault(NEW, "new")
    with pytest.raises(SecretMoved):
        vault.open(vault.seal("secret", **PLACE), **{**PLACE, part: other})


def test_two_places_are_never_written_the_same_way():
    vault = Vault(NEW, "new")
    sealed = vault.seal("secret", tenant="a", target="bc", field="f")
    with pytest.raises(SecretMoved):
        vault.open(sealed, tenant="ab", target="c", field="f")


def test_an_altered_secret_does_not_open():
    vault = Vault(NEW, "new")
    sealed = vault.seal("secret", **PLACE)
    altered = SealedSecret(bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:], sealed.nonce, "new", "")
    with pytest.raises(SecretMoved):
        vault.open(altered, **PLACE)


def test_after_a_rotation_old_secrets_open_and_new_ones_use_the_new_key():
    old = Vault(OLD, "old").seal("secret", **PLACE)
    rotated = Vault(NEW, "new", {"old": OLD})
    assert rotated.open(old, **PLACE) == "secret"
    assert rotated.seal("secret", **PLACE).key_id == "new"


def test_a_secret_whose_key_is_gone_is_lost():
    with pytest.raises(SecretLost, match="key old"):
        Vault(NEW, "new").open(Vault(OLD, "old").seal("secret", **PLACE), **PLACE)


def test_an_operator_s_key_is_rotated_by_naming_the_old_one():
    before = Vault.from_settings(Settings(secret_key="the first key of all"))
    after = Vault.from_settings(Settings(secret_key="the key after that one", secret_key_older="the first key of all"))
    assert after.open(before.seal("secret", **PLACE), **PLACE) == "secret"


def test_without_an_operator_s_key_one_is_made_once_for_its_owner_only(tmp_path):
    settings = Settings(data_dir=tmp_path / "data", secret_key=None)
    sealed = Vault.from_settings(settings).seal("secret", **PLACE)
    file = tmp_path / "data" / KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Vault.from_settings(settings).open(sealed, **PLACE) == "secret"
    assert [path.name for path in file.parent.iterdir()] == [KEY_FILE]


def test_processes_that_start_at_once_agree_on_the_key_file(tmp_path):
    settings = Settings(data_dir=tmp_path, secret_key=None)
    sealed, ready = [], threading.Barrier(8)

    def start():
        ready.wait()
        sealed.append(Vault.from_settings(settings).seal("secret", **PLACE))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.key_id for each in sealed}) == 1
