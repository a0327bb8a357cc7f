-- Bits of 64 people at their position in the row of their block: `no` is id >> 6, bit 63 of `word` is the first of them.
CREATE OR REPLACE FUNCTION hot.word_bits(no bigint, word bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT word::bit(64)::bit(2048) >> (64 * (no & 31))::integer $$;
