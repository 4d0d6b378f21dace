import stat

import pytest

from store.core.columns import SealedSecret
from store.core.errors import SecretLost, SecretMoved
from store.core.settings import Settings
from store.security.secrets import KEY_FILE, Vault
from tests.support.concurrency import run_concurrently

PLACE = {"tenant": "acme", "target": "tgt_1", "field": "secret"}
OLD, NEW = b"o" * 32, b"n" * 32


def test_secret_is_decrypted_for_its_own_target_and_shows_its_last_four_characters():
    sealed = Vault(NEW, "new").seal("sk-0123456789abcdef", **PLACE)
    assert (sealed.last4, sealed.key_id) == ("cdef", "new")
    assert b"0123456789" not in sealed.ciphertext
    assert Vault(NEW, "new").open(sealed, **PLACE) == "sk-0123456789abcdef"


@pytest.mark.parametrize(
    ("secret", "shown"), [("", ""), ("abc", ""), ("abcd", "d"), ("abcdefgh", "gh"), ("x" * 99, "xxxx")]
)
def test_at_most_a_quarter_of_a_short_secret_is_shown(secret, shown):
    assert Vault(NEW, "new").seal(secret, **PLACE).last4 == shown


def test_equal_secrets_have_different_ciphertexts():
    vault = Vault(NEW, "new")
    assert vault.seal("secret", **PLACE).ciphertext != vault.seal("secret", **PLACE).ciphertext


@pytest.mark.parametrize(("part", "other"), [("tenant", "rival"), ("target", "tgt_2"), ("field", "webhook")])
def test_secret_copied_to_another_row_or_field_cannot_be_decrypted(part, other):
    vault = Vault(NEW, "new")
    with pytest.raises(SecretMoved):
        vault.open(vault.seal("secret", **PLACE), **{**PLACE, part: other})


def test_secret_is_bound_to_tenant_and_target_separately_and_not_to_their_concatenation():
    vault = Vault(NEW, "new")
    sealed = vault.seal("secret", tenant="a", target="bc", field="f")
    with pytest.raises(SecretMoved):
        vault.open(sealed, tenant="ab", target="c", field="f")


def test_altered_secret_cannot_be_decrypted():
    vault = Vault(NEW, "new")
    sealed = vault.seal("secret", **PLACE)
    altered = SealedSecret(bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:], sealed.nonce, "new", "")
    with pytest.raises(SecretMoved):
        vault.open(altered, **PLACE)


def test_after_a_key_rotation_old_secrets_can_be_decrypted_and_new_ones_use_the_new_key():
    old = Vault(OLD, "old").seal("secret", **PLACE)
    rotated = Vault(NEW, "new", {"old": OLD})
    assert rotated.open(old, **PLACE) == "secret"
    assert rotated.seal("secret", **PLACE).key_id == "new"


def test_secret_of_an_unknown_key_cannot_be_decrypted():
    with pytest.raises(SecretLost, match="key old"):
        Vault(NEW, "new").open(Vault(OLD, "old").seal("secret", **PLACE), **PLACE)


def test_secrets_encrypted_with_the_key_in_the_setting_secret_key_older_can_be_decrypted():
    before = Vault.from_settings(Settings(secret_key="the first key of all"))
    after = Vault.from_settings(Settings(secret_key="the key after that one", secret_key_older="the first key of all"))
    assert after.open(before.seal("secret", **PLACE), **PLACE) == "secret"


def test_key_file_is_created_once_and_readable_by_its_owner_only(tmp_path):
    settings = Settings(data_dir=tmp_path / "data", secret_key=None)
    sealed = Vault.from_settings(settings).seal("secret", **PLACE)
    file = tmp_path / "data" / KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Vault.from_settings(settings).open(sealed, **PLACE) == "secret"
    assert [path.name for path in file.parent.iterdir()] == [KEY_FILE]


def test_concurrent_processes_use_the_same_key_file(tmp_path):
    settings = Settings(data_dir=tmp_path, secret_key=None)
    sealed = run_concurrently(8, lambda _: Vault.from_settings(settings).seal("secret", **PLACE))
    assert len({each.key_id for each in sealed}) == 1
