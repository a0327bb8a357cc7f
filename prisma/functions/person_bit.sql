-- Who opened, clicked and received a campaign, as one bit a person: a row of 2,048 bits for each block of ids (the blocks
-- of hot.subscriber_block). A condition of a segment and a page of `open=no` read some hundred rows then, where they
-- read one row a person and grouped them (0331). Bits of people who are gone stay: ids are never used again.
-- The bit of one person in the row of its block.
CREATE OR REPLACE FUNCTION hot.person_bit(id bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(2048), (id & 2047)::integer, 1) $$;
