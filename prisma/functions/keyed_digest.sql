-- HMAC-SHA-256 (RFC 2104) of a text, from the inner and outer pads of the key; the same as Node's createHmac. The key itself is
-- not in the database.
CREATE OR REPLACE FUNCTION hot.keyed_digest(inner_pad bytea, outer_pad bytea, message text) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT sha256(outer_pad || sha256(inner_pad || convert_to(message, 'UTF8')))
$$;
