-- Requests of vendors to `/webhook/{type}/{uid}` that were genuine, as they came: kept for some days, so that they can be looked at and
-- read once more.
CREATE TABLE hot.vendor_request (
  customer_id  bigint      NOT NULL,
  id           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  server_id    bigint      NOT NULL,
  uid          text        NOT NULL DEFAULT right(replace(gen_random_uuid()::text, '-', ''), 13),
  type         text        NOT NULL,
  server_uid   text        NOT NULL,
  -- The operator's servers report about messages of every customer.
  is_system    boolean     NOT NULL,
  received_at  timestamptz NOT NULL,
  method       text        NOT NULL,
  -- Without credentials.
  query        json        NOT NULL,
  headers      json        NOT NULL,
  -- The bytes of the body.
  payload      bytea       NOT NULL,
  -- Of the addresses in it: a person's requests are found by them.
  address_hashes bigint[]  NOT NULL,
  event_count  integer     NOT NULL DEFAULT 0,
  -- Why its events could not be read; null: they were.
  fault        text,
  replay_count integer     NOT NULL DEFAULT 0,
  replayed_at  timestamptz,
  PRIMARY KEY (customer_id, id)
);
CREATE INDEX vendor_request_by_time ON hot.vendor_request (received_at, id);
CREATE INDEX vendor_request_by_uid ON hot.vendor_request (uid);
CREATE INDEX vendor_request_of_server ON hot.vendor_request (server_id, received_at);
CREATE INDEX vendor_request_by_address ON hot.vendor_request USING gin (address_hashes);
