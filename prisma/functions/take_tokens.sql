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
