import json
from ipaddress import ip_network
from pathlib import Path

import pytest
from pydantic import ValidationError

from store.core.settings import Settings


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch):
    import os

    for name in [name for name in os.environ if name.startswith("ASSAY_")]:
        monkeypatch.delenv(name)


def test_by_default_the_agency_uses_sqlite_in_the_home_folder_no_broker_and_no_api_keys():
    settings = Settings()
    assert settings.resolved_database_url == f"sqlite:///{Path.home()}/.assay/assay.db"
    assert (settings.broker_url, settings.keys_required, settings.egress_networks) == (None, False, ())


def test_settings_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA_DIR", "/var/lib/assay")
    monkeypatch.setenv("ASSAY_EGRESS_ALLOW", "127.0.0.0/8, fd00::/8,")
    monkeypatch.setenv("ASSAY_LOG_LEVEL", "DEBUG")
    settings = Settings()
    assert settings.resolved_database_url == "sqlite:////var/lib/assay/assay.db"
    assert settings.egress_networks == (ip_network("127.0.0.0/8"), ip_network("fd00::/8"))
    assert settings.log_level == "debug"


def test_empty_variable_counts_as_unset(monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "BROKER_URL", "PUBLIC_URL"):
        monkeypatch.setenv(f"ASSAY_{name}", "")
    settings = Settings()
    assert (settings.secret_key, settings.database_url, settings.broker_url, settings.public_url) == (None,) * 4


def test_arguments_override_the_environment(monkeypatch):
    monkeypatch.setenv("ASSAY_DATABASE_URL", "postgresql://elsewhere/assay")
    assert Settings(database_url="sqlite:////here.db").resolved_database_url == "sqlite:////here.db"


@pytest.mark.parametrize(
    ("arguments", "required"),
    [
        ({}, False),
        ({"host": "::1"}, False),
        ({"host": "localhost"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "assay.example"}, True),
        ({"broker_url": "redis://queue"}, True),
        ({"auth": "keys"}, True),
        ({"auth": "none", "host": "0.0.0.0"}, False),
    ],
)
def test_api_keys_are_required_unless_the_service_listens_on_loopback_without_a_broker(arguments, required):
    assert Settings(**arguments).keys_required is required


@pytest.mark.parametrize(
    ("arguments", "redis"),
    [
        ({}, None),
        ({"broker_url": "redis://queue"}, "redis://queue"),
        ({"broker_url": "amqp://queue"}, None),
        ({"broker_url": "amqp://queue", "limits_url": "rediss://counts"}, "rediss://counts"),
        ({"broker_url": "redis://queue", "limits_url": "redis://counts"}, "redis://counts"),
        ({"broker_url": "redis://queue", "limits_url": ""}, "redis://queue"),
    ],
)
def test_rates_and_calls_are_counted_in_the_redis_of_the_settings_or_else_in_the_redis_broker(arguments, redis):
    assert Settings(**arguments).redis_url == redis


@pytest.mark.parametrize(
    "arguments",
    [
        {"egress_allow": "127.0.0.0/8,local"},
        {"port": 70_000},
        {"auth": "maybe"},
        {"secret_key": "guessable"},
        {"lease_s": 10, "heartbeat_s": 6},
        {"ledger_replies": 0},
        {"limits_url": "amqp://queue"},
    ],
)
def test_an_invalid_setting_of_the_agency_is_refused(arguments):
    with pytest.raises(ValidationError):
        Settings(**arguments)


def test_secret_key_is_not_shown_even_in_errors():
    assert "sixteen" not in repr(Settings(secret_key="sixteen or more characters"))
    with pytest.raises(ValidationError) as refused:
        Settings(secret_key="guessable")
    assert "guessable" not in str(refused.value)


def test_every_setting_has_a_description():
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


RULE = {"claim": "groups", "value": "staff", "tenant": "acme", "scopes": ["ratings:read"]}
SIGN_IN = {
    "public_url": "https://assay.example",
    "oidc_issuer": "https://accounts.example",
    "oidc_client_id": "assay",
    "oidc_rules": json.dumps([RULE]),
}


def test_openid_connect_settings_are_read_from_the_environment(monkeypatch):
    for name, value in SIGN_IN.items():
        monkeypatch.setenv(f"ASSAY_{name.upper()}", value)
    (rule,) = Settings().oidc_rules
    assert (rule.tenant, rule.scopes) == ("acme", ("ratings:read",))


def test_empty_openid_connect_settings_count_as_unset(monkeypatch):
    for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "RULES"):
        monkeypatch.setenv(f"ASSAY_OIDC_{name}", "")
    assert (Settings().oidc_issuer, Settings().oidc_rules) == (None, ())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"oidc_rules": "[]"}, "also needs oidc_rules"),
        ({"public_url": None}, "also needs public_url"),
        ({"oidc_issuer": None}, "also needs oidc_issuer"),
        ({"oidc_issuer": None, "oidc_client_id": None, "oidc_rules": "", "oidc_client_secret": "x"}, "oidc_issuer"),
        ({"oidc_issuer": "http://accounts.example"}, "oidc_issuer must begin with https://"),
        ({"oidc_issuer": "https://accounts.example/?x"}, "oidc_issuer must begin with https://"),
        ({"public_url": "http://assay.example"}, "public_url must begin with https://"),
        ({"oidc_scopes": "email"}, "must contain openid"),
        ({"oidc_rules": "{"}, "oidc_rules"),
        ({"oidc_rules": json.dumps([{**RULE, "scopes": ["everything"]}])}, "oidc_rules.0.scopes.0"),
        ({"oidc_rules": json.dumps([{**RULE, "scopes": []}])}, "oidc_rules.0.scopes"),
        ({"oidc_rules": json.dumps([{**RULE, "tenant": ""}])}, "oidc_rules.0.tenant"),
        ({"oidc_rules": json.dumps([{**RULE, "value": None}])}, "oidc_rules.0.value"),
        ({"oidc_rules": json.dumps([{**RULE, "claims": "x"}])}, "oidc_rules.0.claims"),
    ],
)
def test_incomplete_or_unsafe_openid_connect_settings_are_refused(changed, said):
    Settings(**SIGN_IN)
    with pytest.raises(ValidationError, match=said.replace(".", r"\.")):
        Settings(**{**SIGN_IN, **changed})
