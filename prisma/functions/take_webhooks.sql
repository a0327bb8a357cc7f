-- Takes deliveries of webhooks that are due for a worker: of each receiver at most so many that all workers together have no more than its
-- limit under way, and of each receiver the same number before of anyone the next ones. A row that is taken is due again when its lease
-- ends. Workers take one after the other, so that two of them do not fill the same places.
CREATE OR REPLACE FUNCTION hot.take_webhooks(worker uuid, lease interval, known text[], limits integer[], limit_of_others integer, wanted integer)
RETURNS SETOF bigint LANGUAGE plpgsql
-- The table is small or read by key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM hot.webhook_queue q WHERE q.due_at <= now()) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:take-webhooks', 0));
  RETURN QUERY
  WITH RECURSIVE waiting(receiver) AS (
    (SELECT q.receiver FROM hot.webhook_queue q ORDER BY q.receiver LIMIT 1)
    UNION ALL
    SELECT n.receiver FROM waiting w
     CROSS JOIN LATERAL (SELECT q.receiver FROM hot.webhook_queue q WHERE q.receiver > w.receiver ORDER BY q.receiver LIMIT 1) n
  ), room AS (
    SELECT w.receiver, coalesce(k.places, limit_of_others)
           - (SELECT count(*) FROM hot.webhook_queue q WHERE q.receiver = w.receiver AND q.owner IS NOT NULL AND q.due_at > now()) AS places
      FROM waiting w LEFT JOIN unnest(known, limits) AS k(receiver, places) ON k.receiver = w.receiver
  ), due AS (
    SELECT d.delivery_id, row_number() OVER (PARTITION BY r.receiver ORDER BY d.due_at, d.delivery_id) AS place
      FROM room r
     CROSS JOIN LATERAL (
       SELECT q.delivery_id, q.due_at FROM hot.webhook_queue q
        WHERE q.receiver = r.receiver AND q.due_at <= now()
        ORDER BY q.due_at, q.delivery_id LIMIT greatest(r.places, 0) FOR UPDATE SKIP LOCKED) d
  ), chosen AS (
    SELECT due.delivery_id FROM due ORDER BY due.place, random() LIMIT wanted
  )
  UPDATE hot.webhook_queue q SET owner = worker, due_at = now() + lease
   WHERE q.delivery_id = ANY (ARRAY(SELECT c.delivery_id FROM chosen c))
  RETURNING q.delivery_id;
END $$;
