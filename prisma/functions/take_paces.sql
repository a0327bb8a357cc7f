-- Takes tokens from all buckets that a window of messages needs, in one statement. Class n of the messages (those to one
-- provider) needs `wanted[n]` and, where limited, the bucket `class_bucket[n]` (an index into the arrays of buckets, else 0);
-- every bucket with `is_outer` and the warm-up's day apply to all classes together. `returned` was taken before and not used.
-- Returns per class what is granted and what its own bucket had; `stopped_by` is the outer bucket with the fewest tokens, -1 the
-- day.
CREATE OR REPLACE FUNCTION hot.take_paces(
  keys text[], capacities float8[], rates float8[], is_outer boolean[], returned integer[],
  wanted integer[], class_bucket integer[],
  server bigint, schedule jsonb, warm_up_started timestamptz, day_returned integer)
RETURNS TABLE (granted integer[], class_remaining integer[], stopped_by integer, wait_seconds float8) LANGUAGE plpgsql AS $$
DECLARE
  bucket    record;
  available float8[] := array_fill(0::float8, ARRAY[coalesce(cardinality(keys), 0)]);
  used      integer[] := array_fill(0, ARRAY[coalesce(cardinality(keys), 0)]);
  room      float8 := 'Infinity';
  day_no    integer;
  day_limit integer;
  day_taken integer;
  part      integer;
  total     integer := 0;
  no        integer;
BEGIN
  granted := wanted;
  class_remaining := wanted;
  wait_seconds := 0;
  INSERT INTO hot.rate_bucket (key, tokens) SELECT b.key, b.capacity FROM unnest(keys, capacities) AS b(key, capacity) ORDER BY b.key
  ON CONFLICT DO NOTHING;
  -- Every transaction locks them in the same order.
  FOR bucket IN SELECT r.key, r.tokens, r.refilled_at FROM hot.rate_bucket r WHERE r.key = ANY (keys) ORDER BY r.key FOR UPDATE LOOP
    no := array_position(keys, bucket.key);
    -- A clock that was set back removes no tokens.
    available[no] := least(capacities[no], bucket.tokens + returned[no]
      + greatest(0, extract(epoch FROM clock_timestamp() - bucket.refilled_at)) * rates[no]);
    IF is_outer[no] AND floor(available[no]) < room THEN
      room := floor(available[no]);
      stopped_by := no;
      wait_seconds := CASE WHEN rates[no] > 0 THEN greatest(0, (1 - (available[no] - floor(available[no]))) / rates[no]) ELSE 60 END;
    END IF;
  END LOOP;
  IF schedule IS NOT NULL THEN
    day_no := hot.warm_up_day_no(warm_up_started);
    day_limit := hot.warm_up_limit(schedule, day_no);
    INSERT INTO hot.warm_up_day (server_id, day) VALUES (server, day_no) ON CONFLICT DO NOTHING;
    SELECT greatest(0, d.taken - day_returned) INTO day_taken FROM hot.warm_up_day d WHERE d.server_id = server AND d.day = day_no FOR UPDATE;
    IF day_limit IS NOT NULL AND day_limit - day_taken < room THEN
      room := greatest(0, day_limit - day_taken);
      stopped_by := -1;
      wait_seconds := 1 + 86400 * day_no - extract(epoch FROM clock_timestamp() - warm_up_started);
    END IF;
  END IF;
  FOR class IN 1..coalesce(cardinality(wanted), 0) LOOP
    IF class_bucket[class] > 0 THEN
      class_remaining[class] := least(wanted[class], greatest(0, floor(available[class_bucket[class]]) - used[class_bucket[class]]))::integer;
    END IF;
    part := least(class_remaining[class], greatest(0, room - total))::integer;
    granted[class] := part;
    total := total + part;
    IF class_bucket[class] > 0 THEN used[class_bucket[class]] := used[class_bucket[class]] + part; END IF;
  END LOOP;
  IF total < room THEN stopped_by := NULL; END IF;
  UPDATE hot.rate_bucket r
     SET tokens = available[array_position(keys, r.key)] - CASE WHEN is_outer[array_position(keys, r.key)] THEN total ELSE used[array_position(keys, r.key)] END,
         refilled_at = clock_timestamp()
   WHERE r.key = ANY (keys);
  IF schedule IS NOT NULL AND (total > 0 OR day_returned > 0) THEN
    UPDATE hot.warm_up_day d SET taken = day_taken + total WHERE d.server_id = server AND d.day = day_no;
  END IF;
  RETURN NEXT;
END $$;
