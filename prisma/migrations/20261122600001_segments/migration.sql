-- Segments: how a campaign keeps the rule it was started with, and what rules are compiled to.

ALTER TABLE "campaign" ADD COLUMN "segment_snapshot" JSONB;

CREATE INDEX "segment_uid_idx" ON "segment"("uid");
CREATE INDEX "segment_customer_id_list_id_idx" ON "segment"("customer_id", "list_id");

-- A text as it is compared: without case, composed (NFC). For a plain ASCII text that is the cheapest way there is; for
-- the others it is what JavaScript's `text.normalize('NFC').toLowerCase()` says, by the rules of Unicode where this
-- server was built with ICU. Written to be inlined, so that it costs no call.
DO $$
DECLARE
  lowered text := 'lower(normalize($1, NFC))';
BEGIN
  IF EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu' AND collnamespace = 'pg_catalog'::regnamespace) THEN
    lowered := 'lower(normalize($1, NFC) COLLATE pg_catalog."und-x-icu") COLLATE "C"';
  END IF;
  EXECUTE format(
    'CREATE FUNCTION hot.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $f$ SELECT CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C") ELSE %s END $f$', lowered);
END $$;

-- The value of a field as a number; null for what is none. Never fails, whatever is stored.
CREATE FUNCTION hot.number_of(text) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN $1 ~ '^[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?$' COLLATE "C" THEN $1::numeric END
$$;

-- The value of a field as a time, in UTC where it names no zone; null for what is none. Never fails: the pattern takes
-- only days that the calendar has, years from 1 on, and offsets that the database knows. It captures nothing and looks
-- nowhere ahead, which makes it twice as fast.
CREATE FUNCTION hot.time_of(text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN $1 ~ ('^(?:'
    '[0-9]{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])'
    '|[0-9]{4}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)'
    '|[0-9]{4}-02-(?:0[1-9]|1[0-9]|2[0-8])'
    '|(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
    '(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:\.[0-9]{1,9})?)?'
    '(?: ?(?:[Zz]|[Uu][Tt][Cc]|[+-](?:0[0-9]|1[0-5]):?[0-5][0-9]))?)?$') COLLATE "C" AND left($1, 4) <> '0000'
  THEN $1::timestamptz END
$$;
