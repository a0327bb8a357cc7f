-- Records a process's reports. Where a pause is over and no other process tries, this process becomes (or stays) the one that
-- tries again. Returns the groups that are not healthy. `reports`: an array of the parameters of hot.record_health.
CREATE OR REPLACE FUNCTION hot.sync_health(server bigint, worker uuid, lease interval, reports jsonb, wanted text[])
RETURNS TABLE (mailbox_group text, state text, rest_seconds float8, is_mine boolean, slots integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM hot.record_health(server, n."group", n.taken, n.troubles, n.message, n.rest_min, n.rest_max, n.rests_early, n.failures_max, n.openings_max, n.slots_max)
     FROM (SELECT * FROM jsonb_to_recordset(reports) AS n("group" text, taken integer, troubles integer, message text, rest_min integer,
             rest_max integer, rests_early boolean, failures_max integer, openings_max integer, slots_max integer) ORDER BY n."group" OFFSET 0) n;
  UPDATE hot.sending_health s SET state = 'half-open', prober = worker, prober_until = clock_timestamp() + lease
    FROM (SELECT h.mailbox_group FROM hot.sending_health h
           WHERE h.server_id = server AND h.mailbox_group = ANY (wanted) AND h.state <> 'closed' AND h.open_until <= clock_timestamp()
             AND (h.prober IS NULL OR h.prober = worker OR h.prober_until < clock_timestamp())
           FOR UPDATE SKIP LOCKED) due
   WHERE s.server_id = server AND s.mailbox_group = due.mailbox_group;
  RETURN QUERY
    SELECT h.mailbox_group, h.state, greatest(0, extract(epoch FROM h.open_until - clock_timestamp()))::float8,
           h.state = 'half-open' AND coalesce(h.prober = worker, false), h.slots
      FROM hot.sending_health h WHERE h.server_id = server;
END $$;
