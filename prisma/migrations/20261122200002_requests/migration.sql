-- Requests counted for the operator's rate limit: one row a token or address, its window begun by its first request.
-- Not worth a log: after a crash of the database everybody begins a new window.
CREATE UNLOGGED TABLE hot.request_window (
  key     text        PRIMARY KEY,
  used    bigint      NOT NULL,
  ends_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX request_window_ends_at ON hot.request_window (ends_at);

-- Calls that came with an Idempotency-Key, for a day. While one runs it holds a lease; its answer is sealed, as it may
-- show a token. customer_id is 0 for strangers.
CREATE TABLE hot.idempotent_call (
  customer_id      bigint      NOT NULL,
  id               bytea       NOT NULL,
  fingerprint      bytea       NOT NULL,
  runner           uuid        NOT NULL,
  lease_expires_at timestamptz NOT NULL,
  answer           bytea,
  created_at       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, id)
);

CREATE INDEX idempotent_call_created_at ON hot.idempotent_call (created_at);
