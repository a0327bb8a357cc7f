-- The priority that is served now: the lowest that is due; when nothing waits, the last one given.
CREATE OR REPLACE FUNCTION hot.priority_now() RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE lowest integer;
BEGIN
  SELECT j.priority INTO lowest FROM graphile_worker._private_jobs j
   WHERE j.is_available AND j.priority > 0 AND j.run_at <= now() ORDER BY j.priority, j.run_at LIMIT 1;
  IF lowest IS NULL THEN
    SELECT greatest((SELECT max(planned) FROM hot.queue_priority), (SELECT max(again) FROM hot.queue_priority), 1) INTO lowest;
  END IF;
  RETURN lowest;
END $$;
