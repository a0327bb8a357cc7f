-- When something of this time leaves a sliding window of this length (hot.slide_window). A day that the later month does not have
-- leaves with the end of that month.
CREATE OR REPLACE FUNCTION hot.leaves_window(at timestamptz, length interval) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN l.later - length >= at AT TIME ZONE 'UTC' THEN l.later ELSE date_trunc('day', l.later) + interval '1 day' END AT TIME ZONE 'UTC'
    FROM (SELECT at AT TIME ZONE 'UTC' + length AS later) l
$$;
