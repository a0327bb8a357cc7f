-- Takes deliveries of webhooks that are due for a worker: of each receiver at most its limit, with those that this worker has of it already,
-- and none while another worker has some, so that a receiver never gets more requests at a time than one worker sends. Of each customer
-- at most `limit_of_customer` with those that are under way (`busy`, `under_way`). Of each receiver the same number before of anyone the next
-- ones. A row that is taken is due again when its lease ends. Workers take one after the other, so that two of them do not take the same receiver.
CREATE OR REPLACE FUNCTION hot.take_webhooks(
  worker uuid, lease interval, known text[], limits integer[], limit_of_others integer, wanted integer, busy bigint[], under_way integer[],
  limit_of_customer integer)
RETURNS SETOF bigint LANGUAGE plpgsql
-- The table is small or read by key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off
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
    SELECT w.receiver, CASE WHEN t.of_others = 0 THEN coalesce(k.places, limit_of_others) - t.own ELSE 0 END AS places
      FROM waiting w LEFT JOIN unnest(known, limits) AS k(receiver, places) ON k.receiver = w.receiver
     CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE q.owner = worker) AS own, count(*) FILTER (WHERE q.owner <> worker) AS of_others
         FROM hot.webhook_queue q WHERE q.receiver = w.receiver AND q.owner IS NOT NULL AND q.due_at > now()) t
  ), due AS (
    SELECT d.delivery_id, d.customer_id, row_number() OVER (PARTITION BY r.receiver ORDER BY d.due_at, d.delivery_id) AS place
      FROM room r
     CROSS JOIN LATERAL (
       SELECT q.delivery_id, q.customer_id, q.due_at FROM hot.webhook_queue q
        WHERE q.receiver = r.receiver AND q.due_at <= now()
        ORDER BY q.due_at, q.delivery_id LIMIT greatest(r.places, 0) FOR UPDATE SKIP LOCKED) d
  ), shared AS (
    SELECT u.delivery_id, u.place, coalesce(b.count, 0) + row_number() OVER (PARTITION BY u.customer_id ORDER BY u.place, random()) AS of_customer
      FROM due u LEFT JOIN unnest(busy, under_way) AS b(customer_id, count) ON b.customer_id = u.customer_id
  ), chosen AS (
    SELECT s.delivery_id FROM shared s WHERE s.of_customer <= limit_of_customer ORDER BY s.place, random() LIMIT wanted
  )
  UPDATE hot.webhook_queue q SET owner = worker, due_at = now() + lease
   WHERE q.delivery_id = ANY (ARRAY(SELECT c.delivery_id FROM chosen c))
  RETURNING q.delivery_id;
END $$;
