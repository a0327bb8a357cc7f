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
    'CREATE OR REPLACE FUNCTION hot.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
     $f$ SELECT CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C") ELSE %s END $f$', lowered);
END $$;
