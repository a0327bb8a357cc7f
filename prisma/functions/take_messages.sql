-- Takes messages that are due for a worker: by priority, and within a priority of each customer the same number before of anyone the next
-- ones. Customers that are `busy` are left out, as are rows that another worker is taking. A row that is taken is due again when its
-- lease ends. One that was being handed over when its worker died is decided here: queued again once where a lost message is
-- worse than a second copy, else parked as `unknown`.
CREATE OR REPLACE FUNCTION hot.take_messages(worker uuid, lease interval, priorities smallint[], busy bigint[], per_customer integer, wanted integer)
RETURNS SETOF bigint LANGUAGE plpgsql
-- The tables are small or read by key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  taken bigint[];
  lost  bigint[];
BEGIN
  WITH RECURSIVE waiting(priority, customer_id) AS (
    (SELECT q.priority, q.customer_id FROM hot.message_queue q ORDER BY q.priority, q.customer_id LIMIT 1)
    UNION ALL
    SELECT n.priority, n.customer_id FROM waiting w
     CROSS JOIN LATERAL (SELECT q.priority, q.customer_id FROM hot.message_queue q
                          WHERE (q.priority, q.customer_id) > (w.priority, w.customer_id) ORDER BY q.priority, q.customer_id LIMIT 1) n
  ), due AS (
    SELECT w.priority, d.message_id, row_number() OVER (PARTITION BY w.priority, w.customer_id ORDER BY d.not_before, d.message_id) AS place
      FROM waiting w
     CROSS JOIN LATERAL (
       SELECT q.message_id, q.not_before FROM hot.message_queue q
        WHERE q.priority = w.priority AND q.customer_id = w.customer_id AND q.not_before <= now()
        ORDER BY q.not_before, q.message_id LIMIT per_customer FOR UPDATE SKIP LOCKED) d
     WHERE w.priority = ANY (priorities) AND w.customer_id <> ALL (busy)
  ), chosen AS (
    SELECT due.message_id FROM due ORDER BY due.priority, due.place, random() LIMIT wanted
  ), moved AS (
    UPDATE hot.message_queue q SET owner = worker, not_before = now() + lease
     WHERE q.message_id = ANY (ARRAY(SELECT c.message_id FROM chosen c))
    RETURNING q.message_id
  )
  SELECT array_agg(m.message_id) INTO taken FROM moved m;
  IF taken IS NULL THEN RETURN; END IF;

  -- Somebody may still be handing over these: the lease says so, even if the worker is dead. They come again when it has ended.
  WITH held AS (
    -- First the messages, so that all of the ledger's key is known: else all of the customer's ledger is looked through for each.
    SELECT m.id AS message_id, d.lease_expires_at
      FROM (SELECT m.* FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
             WHERE q.message_id = ANY (taken) OFFSET 0) m
      JOIN hot.delivery d ON d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind
       AND d.source_id = m.source_id AND d.recipient_id = m.recipient_id AND d.occurrence = m.id
     WHERE d.state = 'sending' AND d.lease_expires_at >= now()
  ), waits AS (
    UPDATE hot.message_queue q SET owner = NULL, not_before = h.lease_expires_at FROM held h WHERE q.message_id = h.message_id
    RETURNING q.message_id
  )
  SELECT array_agg(w.message_id) INTO lost FROM waits w;
  IF lost IS NOT NULL THEN taken := ARRAY(SELECT unnest(taken) EXCEPT SELECT unnest(lost)); END IF;

  WITH ended AS (
    UPDATE hot.delivery d
       SET state = CASE WHEN m.kind IN ('security', 'transactional') AND d.ambiguous_count = 0 THEN 'queued' ELSE 'unknown' END::hot.delivery_state,
           ambiguous_count = d.ambiguous_count + 1, ambiguous_since = coalesce(d.ambiguous_since, d.updated_at),
           attempts = d.attempts + 1, reason = 'worker_lost', lease_expires_at = NULL, not_before = NULL, updated_at = now()
      FROM (SELECT m.* FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
             WHERE q.message_id = ANY (taken) OFFSET 0) m
     WHERE d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind
       AND d.source_id = m.source_id AND d.recipient_id = m.recipient_id AND d.occurrence = m.id AND d.state = 'sending'
    RETURNING d.occurrence, d.state, d.customer_id, d.source_kind, d.source_id, m.source_kind = 2 OR (m.source_kind = 3 AND m.priority = 30) AS takes_credits
  ), counted AS (
    INSERT INTO hot.delivery_counter AS c (customer_id, source_kind, source_id, audience, unknown)
    SELECT e.customer_id, e.source_kind, e.source_id, count(*), count(*)
      FROM ended e WHERE e.takes_credits AND e.state = 'unknown' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = c.audience + excluded.audience, unknown = c.unknown + excluded.unknown
  ), parked AS (
    DELETE FROM hot.message_queue q USING ended e WHERE q.message_id = e.occurrence AND e.state = 'unknown' RETURNING q.message_id
  )
  SELECT array_agg(p.message_id) INTO lost FROM parked p;
  RETURN QUERY SELECT t FROM unnest(taken) AS t WHERE lost IS NULL OR t <> ALL (lost);
END $$;
