-- The initial schema, written out: it never changes, whatever becomes of the tables of `store`.
-- The migration fills in the words that differ between SQLite and Postgres.

-- API keys and idempotency keys.
CREATE TABLE api_keys (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    short TEXT NOT NULL,
    digest {bytes} NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    CONSTRAINT pk_api_keys PRIMARY KEY (id),
    CONSTRAINT uq_api_keys_short UNIQUE (short)
);
CREATE INDEX ix_api_keys_tenant_created_at_id ON api_keys (tenant, created_at, id);

CREATE TABLE idempotency (
    scope TEXT NOT NULL,
    "key" TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    status INTEGER,
    headers TEXT,
    body {bytes},
    CONSTRAINT pk_idempotency PRIMARY KEY (scope, "key")
);
CREATE INDEX ix_idempotency_began_at ON idempotency (began_at);

-- Sessions of people on pages, and of drafts of their forms.
CREATE TABLE sessions (
    digest {bytes} NOT NULL,
    key_id TEXT,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    rule TEXT,
    subject TEXT,
    CONSTRAINT pk_sessions PRIMARY KEY (digest),
    CONSTRAINT fk_sessions_key_id FOREIGN KEY(key_id) REFERENCES api_keys (id)
);
CREATE INDEX ix_sessions_expires_at ON sessions (expires_at);
CREATE INDEX ix_sessions_key_id_expires_at ON sessions (key_id, expires_at);
CREATE INDEX ix_sessions_seen_at ON sessions (seen_at);
CREATE INDEX ix_sessions_subject_rule_expires_at ON sessions (subject, rule, expires_at);

CREATE TABLE drafts (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    key_id TEXT NOT NULL,
    ciphertext {bytes} NOT NULL,
    nonce {bytes} NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_drafts PRIMARY KEY (id)
);
CREATE INDEX ix_drafts_expires_at ON drafts (expires_at);
CREATE INDEX ix_drafts_tenant_expires_at ON drafts (tenant, expires_at);

-- Webhooks.
CREATE TABLE webhooks (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    url TEXT NOT NULL,
    description TEXT NOT NULL,
    events TEXT NOT NULL,
    envelope TEXT NOT NULL,
    state TEXT NOT NULL,
    disabled_why TEXT,
    failing_since BIGINT,
    secret_ciphertext {bytes} NOT NULL,
    secret_nonce {bytes} NOT NULL,
    secret_key_id TEXT NOT NULL,
    secret_last4 TEXT NOT NULL,
    previous_ciphertext {bytes},
    previous_nonce {bytes},
    previous_key_id TEXT,
    previous_until BIGINT,
    version INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    removed_at BIGINT,
    confirmed_at BIGINT,
    CONSTRAINT pk_webhooks PRIMARY KEY (id),
    CONSTRAINT ck_webhooks_envelope_is_known CHECK (envelope IN ('standard', 'cloudevents')),
    CONSTRAINT ck_webhooks_state_is_known CHECK (state IN ('enabled', 'disabled'))
);
CREATE INDEX ix_webhooks_tenant_created_at_id ON webhooks (tenant, created_at, id);

-- Deliveries and attempts.
CREATE TABLE deliveries (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    webhook_id TEXT,
    outbox_id BIGINT,
    url TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    lease_until BIGINT,
    ended_at BIGINT,
    CONSTRAINT pk_deliveries PRIMARY KEY (id),
    CONSTRAINT ck_deliveries_state_is_known CHECK (state IN ('waiting', 'delivered', 'given-up')),
    CONSTRAINT uq_deliveries_outbox_id_webhook_id UNIQUE (outbox_id, webhook_id)
);
CREATE INDEX ix_deliveries_state_next_attempt_at ON deliveries (state, next_attempt_at);
CREATE INDEX ix_deliveries_tenant_created_at_id ON deliveries (tenant, created_at, id);
CREATE INDEX ix_deliveries_webhook_id_created_at_id ON deliveries (webhook_id, created_at, id);

CREATE TABLE delivery_attempts (
    delivery_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at BIGINT NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    status INTEGER,
    failure TEXT,
    response TEXT,
    CONSTRAINT pk_delivery_attempts PRIMARY KEY (delivery_id, number),
    CONSTRAINT fk_delivery_attempts_delivery_id FOREIGN KEY(delivery_id) REFERENCES deliveries (id) ON DELETE CASCADE
);

-- Targets.
CREATE TABLE targets (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    protocol TEXT NOT NULL,
    base_url TEXT NOT NULL,
    settings TEXT NOT NULL,
    limits TEXT NOT NULL,
    visibility TEXT NOT NULL,
    secret_ciphertext {bytes},
    secret_nonce {bytes},
    secret_key_id TEXT,
    secret_last4 TEXT,
    version INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    removed_at BIGINT,
    CONSTRAINT pk_targets PRIMARY KEY (id)
);
CREATE INDEX ix_targets_tenant_created_at_id ON targets (tenant, created_at, id);

-- Uploads, their content in chunks, and versioned specifications.
CREATE TABLE uploads (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    purpose TEXT NOT NULL,
    media_type TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    summary {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_uploads PRIMARY KEY (id),
    CONSTRAINT ck_uploads_purpose_is_known CHECK (purpose IN ('table', 'embedding', 'trials')),
    CONSTRAINT uq_uploads_tenant_digest_purpose UNIQUE (tenant, digest, purpose)
);
CREATE INDEX ix_uploads_tenant_created_at_id ON uploads (tenant, created_at, id);

CREATE TABLE upload_chunks (
    upload_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    content {bytes} NOT NULL,
    CONSTRAINT pk_upload_chunks PRIMARY KEY (upload_id, place),
    CONSTRAINT fk_upload_chunks_upload_id FOREIGN KEY(upload_id) REFERENCES uploads (id) ON DELETE CASCADE
);

CREATE TABLE specifications (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    language TEXT NOT NULL,
    citation TEXT NOT NULL,
    words {bytes} NOT NULL,
    digest TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    removed_at BIGINT,
    CONSTRAINT pk_specifications PRIMARY KEY (tenant, name, version),
    CONSTRAINT ck_specifications_kind_is_known CHECK (kind IN ('choices', 'association', 'stereotype', 'visual'))
);
CREATE INDEX ix_specifications_tenant_created_at_name ON specifications (tenant, created_at, name);

-- Corpora.
CREATE TABLE corpora (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    attribute TEXT NOT NULL,
    specification TEXT,
    specification_version INTEGER,
    specification_digest TEXT,
    words {bytes},
    licence TEXT NOT NULL,
    citation TEXT NOT NULL,
    description TEXT NOT NULL,
    visibility TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    removed_at BIGINT,
    CONSTRAINT pk_corpora PRIMARY KEY (id),
    CONSTRAINT ck_corpora_kind_is_known CHECK (kind IN ('sentences', 'images')),
    CONSTRAINT ck_corpora_visibility_is_known CHECK (visibility IN ('private', 'shared'))
);
CREATE INDEX ix_corpora_tenant_created_at_id ON corpora (tenant, created_at, id);
CREATE INDEX ix_corpora_visibility_created_at_id ON corpora (visibility, created_at, id);

-- Items and images.
CREATE TABLE corpus_items (
    id TEXT NOT NULL,
    corpus_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    digest TEXT NOT NULL,
    text TEXT,
    group_term TEXT,
    attribute_term TEXT,
    counterpart TEXT,
    image TEXT,
    term TEXT,
    source TEXT NOT NULL,
    provenance TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    removed_at BIGINT,
    CONSTRAINT pk_corpus_items PRIMARY KEY (id),
    CONSTRAINT ck_corpus_items_a_text_or_an_image CHECK ((text IS NULL) <> (image IS NULL)),
    CONSTRAINT ck_corpus_items_source_is_known CHECK (source IN ('written', 'uploaded', 'template', 'edited')),
    CONSTRAINT fk_corpus_items_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpora (id) ON DELETE CASCADE,
    CONSTRAINT uq_corpus_items_corpus_id_seq UNIQUE (corpus_id, seq),
    CONSTRAINT uq_corpus_items_corpus_id_digest UNIQUE (corpus_id, digest)
);
CREATE INDEX ix_corpus_items_image ON corpus_items (image);

CREATE TABLE images (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    media_type TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    size INTEGER NOT NULL,
    content {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    thumbnail TEXT,
    CONSTRAINT pk_images PRIMARY KEY (tenant, digest)
);

-- Jobs.
CREATE TABLE jobs (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    target_id TEXT,
    target_url TEXT,
    target TEXT NOT NULL,
    secret_ciphertext {bytes},
    secret_nonce {bytes},
    secret_key_id TEXT,
    secret_last4 TEXT,
    experiment TEXT,
    request_digest TEXT NOT NULL,
    seed BIGINT NOT NULL,
    visibility TEXT NOT NULL,
    callback_url TEXT,
    max_calls INTEGER NOT NULL,
    deadline_at BIGINT NOT NULL,
    key_id TEXT,
    status TEXT NOT NULL,
    stage TEXT NOT NULL,
    asked INTEGER NOT NULL,
    expected INTEGER NOT NULL,
    failed_calls INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    observed INTEGER NOT NULL,
    cancel_requested BOOLEAN NOT NULL,
    version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    attempts_without_progress INTEGER NOT NULL,
    fence BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    next_run_at BIGINT NOT NULL,
    dispatched_at BIGINT,
    heartbeat_at BIGINT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    error TEXT,
    result {bytes},
    rating_id TEXT,
    author TEXT,
    waits_why TEXT,
    nonce TEXT,
    commitment TEXT,
    CONSTRAINT pk_jobs PRIMARY KEY (id),
    CONSTRAINT ck_jobs_running_is_leased CHECK ((status = 'running') = (lease_until IS NOT NULL)),
    CONSTRAINT ck_jobs_status_is_known CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled'))
);
CREATE INDEX ix_jobs_status_lease_until ON jobs (status, lease_until);
CREATE INDEX ix_jobs_status_next_run_at_id ON jobs (status, next_run_at, id);
CREATE INDEX ix_jobs_status_tenant_next_run_at_id ON jobs (status, tenant, next_run_at, id);
CREATE INDEX ix_jobs_tenant_created_at_id ON jobs (tenant, created_at, id);
CREATE INDEX ix_jobs_tenant_request_digest_created_at_id ON jobs (tenant, request_digest, created_at, id);
CREATE INDEX ix_jobs_tenant_started_at ON jobs (tenant, started_at);
CREATE INDEX ix_jobs_tenant_status_created_at_id ON jobs (tenant, status, created_at, id);
CREATE INDEX ix_jobs_tenant_target_url_created_at_id ON jobs (tenant, target_url, created_at, id);

-- Observations, events and notices.
CREATE TABLE observations (
    job_id TEXT NOT NULL,
    unit TEXT NOT NULL,
    seq INTEGER NOT NULL,
    ask {bytes} NOT NULL,
    reply {bytes} NOT NULL,
    failure TEXT,
    copied BOOLEAN NOT NULL,
    attempts INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    fence BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    CONSTRAINT pk_observations PRIMARY KEY (job_id, unit),
    CONSTRAINT fk_observations_job_id FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE,
    CONSTRAINT uq_observations_job_id_seq UNIQUE (job_id, seq)
);

CREATE TABLE events (
    id {counted} NOT NULL CONSTRAINT pk_events PRIMARY KEY{incremented},
    job_id TEXT NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    fence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT fk_events_job_id FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE INDEX ix_events_job_id_id ON events (job_id, id);

CREATE TABLE outbox (
    id {counted} NOT NULL CONSTRAINT pk_outbox PRIMARY KEY{incremented},
    job_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    delivered_at BIGINT,
    state TEXT NOT NULL,
    CONSTRAINT ck_outbox_state_is_known CHECK (state IN ('waiting', 'delivered', 'given-up')),
    CONSTRAINT fk_outbox_job_id FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE,
    CONSTRAINT uq_outbox_job_id_kind UNIQUE (job_id, kind)
);
CREATE INDEX ix_outbox_state_next_attempt_at ON outbox (state, next_attempt_at);

-- Rated hosts: turns of jobs, and files with which a host refuses ratings.
CREATE TABLE host_turns (
    job_id TEXT NOT NULL,
    host TEXT NOT NULL,
    admitted_at BIGINT,
    CONSTRAINT pk_host_turns PRIMARY KEY (job_id, host),
    CONSTRAINT fk_host_turns_job_id FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE INDEX ix_host_turns_host ON host_turns (host);

CREATE TABLE refusal_files (
    url TEXT NOT NULL,
    refuses BOOLEAN,
    read_at BIGINT NOT NULL,
    retry_at BIGINT,
    failures INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_refusal_files PRIMARY KEY (url)
);

-- Suites, cells and schedules.
CREATE TABLE suites (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    target_url TEXT,
    target TEXT NOT NULL,
    request TEXT NOT NULL,
    callback_url TEXT,
    visibility TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    CONSTRAINT pk_suites PRIMARY KEY (id)
);
CREATE INDEX ix_suites_tenant_created_at_id ON suites (tenant, created_at, id);

CREATE TABLE suite_cells (
    suite_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    method TEXT NOT NULL,
    attribute TEXT NOT NULL,
    label TEXT NOT NULL,
    job_id TEXT NOT NULL,
    CONSTRAINT pk_suite_cells PRIMARY KEY (suite_id, place),
    CONSTRAINT fk_suite_cells_suite_id FOREIGN KEY(suite_id) REFERENCES suites (id) ON DELETE CASCADE
);
CREATE INDEX ix_suite_cells_job_id ON suite_cells (job_id);

CREATE TABLE schedules (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    cron TEXT,
    interval_s BIGINT,
    state TEXT NOT NULL,
    next_at BIGINT NOT NULL,
    last_at BIGINT,
    last_job_id TEXT,
    last_failure TEXT,
    key_id TEXT,
    version INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    removed_at BIGINT,
    CONSTRAINT pk_schedules PRIMARY KEY (id),
    CONSTRAINT ck_schedules_one_rhythm CHECK ((cron IS NULL) <> (interval_s IS NULL)),
    CONSTRAINT ck_schedules_state_is_known CHECK (state IN ('active', 'paused'))
);
CREATE INDEX ix_schedules_state_next_at ON schedules (state, next_at);
CREATE INDEX ix_schedules_tenant_created_at_id ON schedules (tenant, created_at, id);

-- Workers, and the bytes that each tenant stores.
CREATE TABLE workers (
    name TEXT NOT NULL,
    slots INTEGER NOT NULL,
    alive_until BIGINT NOT NULL,
    CONSTRAINT pk_workers PRIMARY KEY (name)
);

CREATE TABLE stored_bytes (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    shard INTEGER NOT NULL,
    bytes BIGINT NOT NULL,
    CONSTRAINT pk_stored_bytes PRIMARY KEY (tenant, kind, shard)
);

-- Ratings.
CREATE TABLE ratings (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    job_id TEXT NOT NULL,
    target_id TEXT,
    target_url TEXT NOT NULL,
    target TEXT NOT NULL,
    method TEXT NOT NULL,
    attribute TEXT NOT NULL,
    letter TEXT,
    declared BOOLEAN NOT NULL,
    visibility TEXT NOT NULL,
    methodology_version TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    document {bytes} NOT NULL,
    withdrawn_at BIGINT,
    withdrawn_why TEXT,
    host TEXT,
    address TEXT,
    requester TEXT,
    description TEXT,
    host_proved BOOLEAN,
    unmasked {bytes},
    CONSTRAINT pk_ratings PRIMARY KEY (id),
    CONSTRAINT uq_ratings_job_id UNIQUE (job_id)
);
CREATE INDEX ix_ratings_address ON ratings (address, method, attribute, created_at, id, tenant, visibility, description, withdrawn_at);
CREATE INDEX ix_ratings_created_at_id ON ratings (created_at, id);
CREATE INDEX ix_ratings_target_url_created_at_id ON ratings (target_url, created_at, id);
CREATE INDEX ix_ratings_tenant_created_at_id ON ratings (tenant, created_at, id);
CREATE INDEX ix_ratings_tenant_request_digest_created_at ON ratings (tenant, request_digest, created_at);
CREATE INDEX ix_ratings_tenant_target_url_created_at_id ON ratings (tenant, target_url, created_at, id);

-- Ratings of services, from which rankings are read.
CREATE TABLE service_ratings (
    rating_id TEXT NOT NULL,
    service TEXT NOT NULL,
    kind TEXT NOT NULL,
    method TEXT NOT NULL,
    attribute TEXT NOT NULL,
    tenant TEXT NOT NULL,
    visibility TEXT NOT NULL,
    description TEXT,
    host TEXT,
    address TEXT,
    created_at BIGINT NOT NULL,
    withdrawn_at BIGINT,
    masked BOOLEAN NOT NULL,
    key_figures TEXT,
    letter TEXT,
    name TEXT,
    declared BOOLEAN,
    expires_at BIGINT,
    CONSTRAINT service_ratings_pkey PRIMARY KEY (rating_id),
    CONSTRAINT service_ratings_rating_id_fkey FOREIGN KEY(rating_id) REFERENCES ratings (id)
);
CREATE INDEX ix_service_ratings_ranked ON service_ratings (kind, method, attribute, service, tenant, visibility, masked, withdrawn_at);
CREATE INDEX ix_service_ratings_service_created_at ON service_ratings (service, created_at);

-- Signing keys, certificates and ratings that wait for their signature.
CREATE TABLE signing_keys (
    id TEXT NOT NULL,
    public_key {bytes} NOT NULL,
    secret_ciphertext {bytes} NOT NULL,
    secret_nonce {bytes} NOT NULL,
    secret_key_id TEXT NOT NULL,
    secret_last4 TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    retired_at BIGINT,
    CONSTRAINT pk_signing_keys PRIMARY KEY (id)
);

CREATE TABLE certificates (
    rating_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    envelope {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_certificates PRIMARY KEY (rating_id, key_id),
    CONSTRAINT fk_certificates_key_id FOREIGN KEY(key_id) REFERENCES signing_keys (id),
    CONSTRAINT fk_certificates_rating_id FOREIGN KEY(rating_id) REFERENCES ratings (id)
);

CREATE TABLE unsigned_ratings (
    rating_id TEXT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    CONSTRAINT pk_unsigned_ratings PRIMARY KEY (rating_id),
    CONSTRAINT fk_unsigned_ratings_rating_id FOREIGN KEY(rating_id) REFERENCES ratings (id)
);
CREATE INDEX ix_unsigned_ratings_next_attempt_at ON unsigned_ratings (next_attempt_at);

-- The transparency log: entries, tree, cosignatures, and heads of other logs.
CREATE TABLE log_entries (
    position BIGINT NOT NULL,
    rating_id TEXT NOT NULL,
    event TEXT NOT NULL,
    entry TEXT NOT NULL,
    leaf {bytes} NOT NULL,
    logged_at BIGINT NOT NULL,
    CONSTRAINT pk_log_entries PRIMARY KEY (position),
    CONSTRAINT ck_log_entries_event_is_known CHECK (event IN ('published', 'withdrawn'))
);
CREATE INDEX ix_log_entries_rating_id_position ON log_entries (rating_id, position);

CREATE TABLE log_nodes (
    level INTEGER NOT NULL,
    place BIGINT NOT NULL,
    hash {bytes} NOT NULL,
    CONSTRAINT pk_log_nodes PRIMARY KEY (level, place)
);

CREATE TABLE cosignatures (
    origin TEXT NOT NULL,
    size BIGINT NOT NULL,
    witness TEXT NOT NULL,
    line TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_cosignatures PRIMARY KEY (origin, size, witness)
);

CREATE TABLE witnessed_logs (
    origin TEXT NOT NULL,
    size BIGINT NOT NULL,
    root {bytes} NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_witnessed_logs PRIMARY KEY (origin)
);

-- Domains, replies, compositions and re-ratings.
CREATE TABLE domains (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    host TEXT NOT NULL,
    token TEXT NOT NULL,
    state TEXT NOT NULL,
    checked_at BIGINT,
    failure TEXT,
    verified_at BIGINT,
    created_at BIGINT NOT NULL,
    ratings TEXT DEFAULT 'allowed' NOT NULL,
    CONSTRAINT pk_domains PRIMARY KEY (id),
    CONSTRAINT ck_domains_state_is_known CHECK (state IN ('waiting', 'verified', 'failed')),
    CONSTRAINT ck_domains_ratings_are_known CHECK (ratings IN ('allowed', 'refused')),
    CONSTRAINT uq_domains_tenant_host UNIQUE (tenant, host)
);
CREATE INDEX ix_domains_host ON domains (host);
CREATE INDEX ix_domains_tenant_created_at_id ON domains (tenant, created_at, id);

CREATE TABLE replies (
    rating_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    host TEXT NOT NULL,
    text TEXT NOT NULL,
    link TEXT,
    created_at BIGINT NOT NULL,
    objects BOOLEAN DEFAULT false NOT NULL,
    answer TEXT,
    answered_by TEXT,
    answered_at BIGINT,
    CONSTRAINT pk_replies PRIMARY KEY (rating_id),
    CONSTRAINT fk_replies_rating_id FOREIGN KEY(rating_id) REFERENCES ratings (id)
);

CREATE TABLE compositions (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    visibility TEXT NOT NULL,
    request TEXT NOT NULL,
    document {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_compositions PRIMARY KEY (id)
);
CREATE INDEX ix_compositions_tenant_created_at_id ON compositions (tenant, created_at, id);

CREATE TABLE rerated (
    rating_id TEXT NOT NULL,
    methodology_version TEXT NOT NULL,
    letter TEXT,
    declared BOOLEAN NOT NULL,
    document {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_rerated PRIMARY KEY (rating_id, methodology_version),
    CONSTRAINT fk_rerated_rating_id FOREIGN KEY(rating_id) REFERENCES ratings (id)
);
