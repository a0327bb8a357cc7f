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
