-- Whose counts in hot.recipient_activity are above zero. `human_opened` is what a rule means by opens of people: an
-- open, or a click that proves one. Of the times beside those counts: none is before first_at, none after the day last_on (UTC).
-- Blocks of 512 ids here: where the ids of a list lie far apart, each person who opens has a row, and it should not be large.
CREATE OR REPLACE FUNCTION hot.person_bit_of_512(id bigint) RETURNS bit(512) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(512), (id & 511)::integer, 1) $$;
