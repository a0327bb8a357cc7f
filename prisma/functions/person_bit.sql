-- The bit of one person in the row of its block of 2,048 ids (those of hot.subscriber_block). Bits of deleted people stay: ids
-- are never used again.
CREATE OR REPLACE FUNCTION hot.person_bit(id bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(2048), (id & 2047)::integer, 1) $$;
