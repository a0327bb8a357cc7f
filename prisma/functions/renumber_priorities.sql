-- Lowers all priorities when they have become large: a priority is a smallint. Answers by how much.
CREATE OR REPLACE FUNCTION hot.renumber_priorities(beyond integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE by_much integer;
BEGIN
  IF hot.priority_now() <= beyond THEN RETURN 0; END IF;
  -- Waits for transactions that have taken priorities and not committed; else their jobs would come with the old numbers.
  SET LOCAL lock_timeout = '5s';
  LOCK TABLE hot.queue_priority IN EXCLUSIVE MODE;
  by_much := hot.priority_now() - 1;
  UPDATE graphile_worker._private_jobs SET priority = greatest(1, priority - by_much) WHERE priority > 0;
  UPDATE hot.queue_priority SET planned = greatest(0, planned - by_much), again = greatest(0, again - by_much);
  DELETE FROM hot.queue_priority WHERE planned = 0 AND again = 0;
  RETURN by_much;
END $$;
