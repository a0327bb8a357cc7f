-- The same in blocks of 512 ids (hot.campaign_activity_block).
CREATE OR REPLACE FUNCTION hot.person_bit_of_512(id bigint) RETURNS bit(512) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(512), (id & 511)::integer, 1) $$;
