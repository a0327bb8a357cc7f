-- Settings, processes and what the whole installation keeps.

-- Hot tables (the ledger, events, counters): outside Prisma's models, so that partitions are no difference to its schema.
-- No foreign keys there: they would cost every batch a look-up a row.
CREATE SCHEMA hot;
-- The built-in inbox for development.
CREATE SCHEMA inbox;

-- A setting of the installation that is kept in the database.
CREATE TABLE setting (
  key        text           NOT NULL,
  value      jsonb          NOT NULL,
  updated_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (key)
);

-- The processes of the installation, each with its latest sign of life: what operators see, and how a database knows when
-- it was last used (a restored backup was not used for a while, and has another place).
CREATE TABLE hot.process (
  id         uuid           NOT NULL,
  host       text           NOT NULL,
  pid        integer        NOT NULL,
  roles      text[]         NOT NULL,
  version    text           NOT NULL,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  seen_at    timestamptz(3) NOT NULL DEFAULT now(),
  memory_mb  integer        NOT NULL,
  is_working boolean        NOT NULL,
  PRIMARY KEY (id)
) WITH (fillfactor = 50);

-- Written to and rolled back after a full disk: shows whether there is space again.
CREATE UNLOGGED TABLE hot.disk_probe (
  filler bytea NOT NULL
);
ALTER TABLE hot.disk_probe
  ALTER COLUMN filler SET STORAGE EXTERNAL;

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

-- Limits such as "60 in a minute": of requests, of failed logins, of mails to addresses that a customer only names. A window begins
-- with the first that is counted. Keys of logins and mails hold digests, never what was typed. Not worth a log: after a crash of
-- the database new windows begin.
CREATE UNLOGGED TABLE hot.rate_window (
  key     text        NOT NULL,
  used    bigint      NOT NULL,
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (key)
) WITH (fillfactor = 50);
CREATE INDEX rate_window_ends_at ON hot.rate_window (ends_at);

-- Token buckets of sending servers: what may still be sent now, refilled by the clock of the database.
CREATE TABLE hot.rate_bucket (
  key         text             NOT NULL,
  tokens      double precision NOT NULL,
  refilled_at timestamptz      NOT NULL DEFAULT now(),
  PRIMARY KEY (key)
) WITH (fillfactor = 50);

CREATE TABLE inbox.message (
  id          bigint      GENERATED ALWAYS AS IDENTITY,
  received_at timestamptz NOT NULL DEFAULT now(),
  mail_from   text        NOT NULL,
  rcpt_to     text[]      NOT NULL,
  subject     text        NOT NULL DEFAULT '',
  size        integer     NOT NULL,
  raw         bytea       NOT NULL,
  PRIMARY KEY (id)
);

-- A text in the form in which texts are compared: without case, composed (NFC). Plain ASCII takes the cheapest way; other texts
-- get the same result as JavaScript's `text.normalize('NFC').toLowerCase()`, by the rules of Unicode where this server was built
-- with ICU. Written to be inlined, so that it costs no call.
DO $$
DECLARE
  lowered text := 'lower(normalize($1, NFC))';
BEGIN
  IF EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu' AND collnamespace = 'pg_catalog'::regnamespace) THEN
    lowered := 'lower(normalize($1, NFC) COLLATE pg_catalog."und-x-icu") COLLATE "C"';
  END IF;
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION hot.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $f$ SELECT CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C") ELSE %s END $f$', lowered);
END $$;

-- A number in a field's value; null: there is none. Nearly all values are recognised without a pattern. The patterns for the rest
-- have no bounded repeats ({1,30}): PostgreSQL matches such simple patterns much faster.
CREATE OR REPLACE FUNCTION hot.number_of(text) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN translate($1, '0123456789', '') = '' AND octet_length($1) BETWEEN 1 AND 30 THEN $1::numeric
    WHEN octet_length($1) < 70 AND $1 ~ '^[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9][0-9]?[0-9]?)?$' COLLATE "C" THEN $1::numeric
  END
$$;

-- A date or time in a field's value; null: there is none. A day up to the 28th in a usual spelling is recognised by its shape and
-- four comparisons, everything else by the pattern.
CREATE OR REPLACE FUNCTION hot.time_of(text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN translate($1, '123456789', '000000000') = ANY
         ('{0000-00-00,0000-00-00 00:00:00,0000-00-00T00:00:00Z,0000-00-00T00:00:00.000Z}'::text[])
     AND substr($1, 1, 7) COLLATE "C" > '0001' AND substr($1, 6, 2) COLLATE "C" BETWEEN '01' AND '12'
     AND substr($1, 9, 2) COLLATE "C" BETWEEN '01' AND '28'
     AND (octet_length($1) = 10 OR (substr($1, 12, 2) COLLATE "C" < '24' AND substr($1, 15, 1) COLLATE "C" < '6' AND substr($1, 18, 1) COLLATE "C" < '6'))
    THEN $1::timestamptz
    WHEN octet_length($1) < 50 AND left($1, 4) <> '0000' AND $1 ~ ('^(?:'
      '[0-9][0-9][0-9][0-9]-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])'
      '|[0-9][0-9][0-9][0-9]-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)'
      '|[0-9][0-9][0-9][0-9]-02-(?:0[1-9]|1[0-9]|2[0-8])'
      '|(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
      '(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.][0-9]+)?)?'
      '(?: ?(?:[Zz]|[Uu][Tt][Cc]|[+-](?:0[0-9]|1[0-5]):?[0-5][0-9]))?)?$') COLLATE "C" THEN $1::timestamptz
  END
$$;

-- Whether the worker process with this id runs: it holds an advisory lock in its name as long as it runs.
CREATE OR REPLACE FUNCTION hot.is_worker_alive(worker uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT 1 FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.objsubid = 1
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(worker::text, 0))
$$;

-- Takes up to `wanted` tokens and returns how many were granted.
CREATE OR REPLACE FUNCTION hot.take_tokens(bucket text, wanted integer, capacity double precision, per_second double precision)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  available double precision;
  granted   integer;
BEGIN
  INSERT INTO hot.rate_bucket (key, tokens) VALUES (bucket, capacity) ON CONFLICT DO NOTHING;
  -- A clock that was set back removes no tokens.
  SELECT least(capacity, tokens + greatest(0, extract(epoch FROM clock_timestamp() - refilled_at)) * per_second)
    INTO available FROM hot.rate_bucket WHERE key = bucket FOR UPDATE;
  granted := least(wanted, floor(available)::integer);
  UPDATE hot.rate_bucket SET tokens = available - granted, refilled_at = clock_timestamp() WHERE key = bucket;
  RETURN granted;
END $$;

-- The bit of one person in the row of its block of 2,048 ids (those of hot.subscriber_block). Bits of deleted people stay: ids
-- are never used again.
CREATE OR REPLACE FUNCTION hot.person_bit(id bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(2048), (id & 2047)::integer, 1) $$;

-- The same in blocks of 512 ids (hot.campaign_activity_block).
CREATE OR REPLACE FUNCTION hot.person_bit_of_512(id bigint) RETURNS bit(512) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(512), (id & 511)::integer, 1) $$;

-- Bits of 64 people at their position in the row of their block: `no` is id >> 6, bit 63 of `word` is the first of them.
CREATE OR REPLACE FUNCTION hot.word_bits(no bigint, word bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT word::bit(64)::bit(2048) >> (64 * (no & 31))::integer $$;

-- Who has a bit in at least `wanted` of the rows. Counts for all people of a block at once, in binary: `counts` has one row of
-- bits per digit, and starts so high that it overflows when the number is reached.
CREATE OR REPLACE FUNCTION hot.bits_in_at_least(members bit[], wanted integer) RETURNS bit(2048)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  none    CONSTANT bit(2048) := 0::bit(2048);
  digits  integer := 0;
  counts  bit(2048)[];
  digit   bit(2048);
  carry   bit(2048);
  reached bit(2048) := none;
BEGIN
  IF wanted > cardinality(members) THEN RETURN none; END IF;
  WHILE (1 << digits) < wanted LOOP digits := digits + 1; END LOOP;
  FOR d IN 1..digits LOOP
    counts[d] := CASE WHEN ((1 << digits) - wanted) >> (d - 1) & 1 = 1 THEN ~none ELSE none END;
  END LOOP;
  FOREACH carry IN ARRAY members LOOP
    FOR d IN 1..digits LOOP
      digit := counts[d];
      counts[d] := digit # carry;
      carry := digit & carry;
    END LOOP;
    reached := reached | carry;
  END LOOP;
  RETURN reached;
END $$;

-- Adds numbers for all people of a block at once, and returns whose sum reaches `wanted`. Each number comes as its binary digits:
-- a row of `members` with its position in `digits`. The sum starts so high that it overflows when `wanted` is reached.
CREATE OR REPLACE FUNCTION hot.bits_that_reach(members bit[], digits smallint[], wanted integer) RETURNS bit(2048)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  none    CONSTANT bit(2048) := 0::bit(2048);
  places  integer := 0;
  start   bigint;
  sums    bit(2048)[];
  sum     bit(2048);
  carry   bit(2048);
  reached bit(2048) := none;
BEGIN
  WHILE (1::bigint << places) < wanted LOOP places := places + 1; END LOOP;
  start := (1::bigint << places) - wanted;
  FOR p IN 1..places LOOP
    sums[p] := CASE WHEN start >> (p - 1) & 1 = 1 THEN ~none ELSE none END;
  END LOOP;
  FOR i IN 1..cardinality(members) LOOP
    carry := members[i];
    FOR p IN digits[i] + 1..places LOOP
      sum := sums[p];
      sums[p] := sum # carry;
      carry := sum & carry;
    END LOOP;
    reached := reached | carry;
  END LOOP;
  RETURN reached;
END $$;

-- HMAC-SHA-256 (RFC 2104) of a text, from the inner and outer pads of the key; the same as Node's createHmac. The key itself is
-- not in the database.
CREATE OR REPLACE FUNCTION hot.keyed_digest(inner_pad bytea, outer_pad bytea, message text) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT sha256(outer_pad || sha256(inner_pad || convert_to(message, 'UTF8')))
$$;
