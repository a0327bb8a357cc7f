-- When the first of those that a sliding window holds leaves it; if it is full, when it has room for one more. Null: it is empty, or
-- never has room.
CREATE OR REPLACE FUNCTION hot.room_in_window_at(times timestamptz[], totals bigint[], total bigint, room_max bigint, length interval)
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT hot.leaves_window(min(w.at), length) FROM unnest(times, totals) AS w(at, total)
   WHERE w.total > greatest(totals[1], total - room_max)
$$;
