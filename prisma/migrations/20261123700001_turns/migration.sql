-- Turns: in which order the jobs of many customers are taken up. Start-time fair queueing: a customer's k-th waiting job
-- gets the turn V + k, where V is the lowest turn that waits. So whoever comes with ten jobs stands beside the first ten
-- of somebody with ten thousand. The turn is the job's priority in the queue; 0 and below are jobs outside the line.

CREATE TABLE hot.turn (
  customer_id bigint  PRIMARY KEY,
  -- The last turn given for work that was planned, and for work that comes back: the second must not wait behind all of the first.
  planned     integer NOT NULL DEFAULT 0,
  again       integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE INDEX turn_planned ON hot.turn (planned);
CREATE INDEX turn_again ON hot.turn (again);

-- The turn that is served now: the lowest that is due; when nothing waits, the last one that was given at all.
CREATE FUNCTION hot.turn_now() RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE lowest integer;
BEGIN
  SELECT j.priority INTO lowest FROM graphile_worker._private_jobs j
   WHERE j.is_available AND j.priority > 0 AND j.run_at <= now() ORDER BY j.priority, j.run_at LIMIT 1;
  IF lowest IS NULL THEN
    SELECT greatest((SELECT max(planned) FROM hot.turn), (SELECT max(again) FROM hot.turn), 1) INTO lowest;
  END IF;
  RETURN lowest;
END $$;

-- Takes `amount` turns, one after the other, and answers the first.
CREATE FUNCTION hot.take_turns(customer bigint, amount integer, is_again boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  served integer := hot.turn_now();
  last   integer;
BEGIN
  IF is_again THEN
    INSERT INTO hot.turn AS t (customer_id, again) VALUES (customer, served + amount - 1)
      ON CONFLICT (customer_id) DO UPDATE SET again = greatest(t.again, served - 1) + amount RETURNING t.again INTO last;
  ELSE
    INSERT INTO hot.turn AS t (customer_id, planned) VALUES (customer, served + amount - 1)
      ON CONFLICT (customer_id) DO UPDATE SET planned = greatest(t.planned, served - 1) + amount RETURNING t.planned INTO last;
  END IF;
  RETURN last - amount + 1;
END $$;

-- Begins the count anew when it has come far: a priority is a smallint. Answers by how much all turns became smaller.
CREATE FUNCTION hot.renumber_turns(beyond integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE by_much integer;
BEGIN
  IF hot.turn_now() <= beyond THEN RETURN 0; END IF;
  -- Whoever has taken turns and not committed yet is waited for; else its jobs would come in by the old count.
  SET LOCAL lock_timeout = '5s';
  LOCK TABLE hot.turn IN EXCLUSIVE MODE;
  by_much := hot.turn_now() - 1;
  UPDATE graphile_worker._private_jobs SET priority = greatest(1, priority - by_much) WHERE priority > 0;
  UPDATE hot.turn SET planned = greatest(0, planned - by_much), again = greatest(0, again - by_much);
  DELETE FROM hot.turn WHERE planned = 0 AND again = 0;
  RETURN by_much;
END $$;
