-- What is asked for by customer and id, or by webhook and id, is found by the primary key only, when no other index begins with the customer or the webhook: by
-- statistics that do not know the customer, each of them looked as good, and all of the customer's rows were read for each. What these indexes
-- begin with is known of every row that is looked up by them.
DROP INDEX hot.webhook_delivery_once;
CREATE UNIQUE INDEX webhook_delivery_once ON hot.webhook_delivery (source_key, webhook_id, made_on);
DROP INDEX hot.message_by_cause;
CREATE UNIQUE INDEX message_by_cause ON hot.message (cause, customer_id);
DROP INDEX hot.message_by_recipient;
CREATE INDEX message_by_recipient ON hot.message (recipient_id, customer_id, id);
-- That of addresses serves who asks for all customers, too.
DROP INDEX hot.message_recipient_by_address, hot.message_recipient_by_key;
CREATE UNIQUE INDEX message_recipient_by_address ON hot.message_recipient (email_key, customer_id);

-- The recipient of a message as he is now: a subscriber of the list, or without a list an address of hot.message_recipient. Who is
-- pending after the confirmation's time is `unconfirmed`, also before the job says so. By the order of the ids the primary key is the only index for it:
-- by old statistics that of addresses looks as good, and all of the customer's people were read for each.
CREATE OR REPLACE FUNCTION hot.reader_of_message(customer bigint, list bigint, recipient bigint)
RETURNS TABLE (email text, email_key text, status text, fields jsonb, pending_until timestamptz) LANGUAGE sql STABLE AS $$
  (SELECT s.email, s.email_key, CASE WHEN s.status = 'pending' AND s.pending_until <= now() THEN 'unconfirmed' ELSE s.status END,
          s.fields, s.pending_until
     FROM public.subscriber s WHERE list IS NOT NULL AND s.customer_id = customer AND s.list_id = list AND s.id BETWEEN recipient AND recipient
    ORDER BY s.id LIMIT 1)
  UNION ALL
  SELECT r.email, r.email_key, NULL, '{}'::jsonb, NULL
    FROM hot.message_recipient r WHERE list IS NULL AND r.customer_id = customer AND r.id = recipient
$$;

-- Records outcomes of messages that are not of a campaign, and marks the next ones as `sending`, for all customers and sources
-- together. The rules are those of hot.record_and_mark: a row is written only by who holds its epoch, and marked only while the
-- address that was read is the recipient's. Who may be mailed depends on the message: the status on the list that it is for, or
-- none; and suppressions, of which a complaint does not stop kind `security` (decision D94); and a flow that is stopped, or a customer that is not active, sends nothing.
CREATE OR REPLACE FUNCTION hot.settle_messages(
  worker uuid, lease interval,
  ids bigint[], customers bigint[], epochs integer[], states hot.delivery_state[], tries boolean[], replies text[], reasons text[],
  message_ids text[], message_keys bytea[], delays double precision[], unanswered boolean[], servers bigint[],
  next_ids bigint[], next_customers bigint[], next_epochs integer[], next_emails text[], next_servers bigint[])
RETURNS TABLE (recorded bigint[], marked bigint[]) LANGUAGE plpgsql
-- Each row is found by its key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  -- In the same order everywhere, and before the ledger, as hot.take_messages does: no circle of waiting.
  PERFORM 1 FROM hot.message_queue q WHERE q.message_id = ANY (ids) ORDER BY q.message_id FOR UPDATE;
  RETURN QUERY
  WITH outcome AS (
    SELECT o.*, m.snapshot_on, m.source_kind, m.source_id, m.recipient_id,
           m.source_kind = 2 OR (m.source_kind = 3 AND m.priority = 30) AS takes_credits,
           b.state AS state_before, b.reason AS reason_before, b.updated_at AS looked_at
      FROM unnest(ids, customers, epochs, states, tries, replies, reasons, message_ids, message_keys, delays, unanswered, servers)
        AS o(id, customer_id, epoch, state, is_try, reply, reason, message_id, message_key, delay_seconds, is_unanswered, server_id)
      JOIN hot.message m ON m.customer_id = o.customer_id AND m.id = o.id
      LEFT JOIN LATERAL (
        SELECT l.state, l.reason, l.updated_at FROM hot.delivery l
         WHERE l.snapshot_on = m.snapshot_on AND l.customer_id = m.customer_id AND l.source_kind = m.source_kind AND l.source_id = m.source_id
           AND l.recipient_id = m.recipient_id AND l.occurrence = m.id AND (m.source_kind = 2 OR (m.source_kind = 3 AND m.priority = 30)) OFFSET 0) b ON true
  ), settled AS (
    UPDATE hot.delivery d
       SET state = o.state, epoch = o.epoch, reply = o.reply, reason = o.reason, runtime_message_id = o.message_id,
           attempts = d.attempts + o.is_try::integer, updated_at = now(), server_id = coalesce(o.server_id, d.server_id),
           ambiguous_count = d.ambiguous_count + o.is_unanswered::integer,
           not_before = CASE WHEN o.state = 'queued' THEN now() + make_interval(secs => o.delay_seconds) END,
           owner = CASE WHEN o.state = 'unknown' THEN d.owner END, lease_expires_at = NULL
      FROM outcome o
     WHERE d.snapshot_on = o.snapshot_on AND d.customer_id = o.customer_id AND d.source_kind = o.source_kind AND d.source_id = o.source_id
       AND d.recipient_id = o.recipient_id AND d.occurrence = o.id
       AND (CASE WHEN d.state = 'sending' THEN d.epoch = o.epoch AND d.owner = worker
                 -- nothing was handed over
                 WHEN d.state = 'queued' AND d.epoch = o.epoch - 1 THEN true
                 -- a late answer for one that was given up meanwhile
                 ELSE o.state = 'sent' AND d.state IN ('queued', 'unknown') AND d.epoch = o.epoch AND d.owner = worker END)
    RETURNING d.occurrence, d.customer_id, d.source_kind, d.source_id, d.recipient_id, d.state, d.not_before, o.state_before, o.takes_credits
  ), counted AS (
    -- Mails of flows take credits, as campaigns do, and so do transactional mails with their priority (kinds `optional` and `marketing`): only what
    -- took some is counted.
    INSERT INTO hot.delivery_counter AS c (customer_id, source_kind, source_id, audience, sent, unknown)
    SELECT s.customer_id, s.source_kind, s.source_id, count(*) FILTER (WHERE s.state_before <> 'unknown'), count(*) FILTER (WHERE s.state = 'sent'),
           count(*) FILTER (WHERE s.state = 'unknown') - count(*) FILTER (WHERE s.state_before = 'unknown')
      FROM settled s WHERE s.takes_credits AND s.state IN ('sent', 'unknown') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE
      SET audience = c.audience + excluded.audience, sent = c.sent + excluded.sent, unknown = c.unknown + excluded.unknown
  ), closed AS (
    DELETE FROM hot.message_queue q USING settled s WHERE q.message_id = s.occurrence AND s.state <> 'queued'
  ), again AS (
    UPDATE hot.message_queue q SET owner = NULL, not_before = s.not_before FROM settled s WHERE q.message_id = s.occurrence AND s.state = 'queued'
  ), paused AS (
    -- The time between two looks at a mail whose flow was stopped does not make it older; nor does what ends by itself, frequency caps and
    -- quiet hours.
    UPDATE hot.message m SET send_at = coalesce(m.send_at, m.created_at) + (now() - o.looked_at)
      FROM outcome o JOIN settled s ON s.occurrence = o.id
     WHERE (o.source_kind = 2 AND o.reason = 'flow_stopped' AND o.reason_before = 'flow_stopped'
            OR o.state = 'queued' AND o.state_before = 'queued' AND o.reason_before IN ('frequency_cap', 'quiet_hours'))
       AND o.looked_at < now()
       AND m.customer_id = o.customer_id AND m.id = o.id
  ), named AS (
    -- Ids of vendors, by which reports find them.
    INSERT INTO hot.runtime_message (customer_id, source_kind, source_id, recipient_id, occurrence, message_key)
    SELECT s.customer_id, s.source_kind, s.source_id, s.recipient_id, s.occurrence, o.message_key
      FROM settled s JOIN outcome o ON o.id = s.occurrence WHERE o.message_key IS NOT NULL
    ON CONFLICT DO NOTHING
  ), marked_now AS (
    UPDATE hot.delivery d
       SET state = 'sending', epoch = n.epoch, owner = worker, lease_expires_at = now() + lease, updated_at = now(), server_id = n.server_id,
           email = n.email
      FROM (SELECT x.*, m.snapshot_on, m.source_kind, m.source_id, m.recipient_id, m.status, m.kind, m.purpose
              FROM unnest(next_ids, next_customers, next_epochs, next_emails, next_servers) AS x(id, customer_id, epoch, email, server_id)
              -- First, so that all of the ledger's key is known: else all of the customer's ledger is looked through for each.
              JOIN hot.message m ON m.customer_id = x.customer_id AND m.id = x.id OFFSET 0) n
     WHERE d.snapshot_on = n.snapshot_on AND d.customer_id = n.customer_id AND d.source_kind = n.source_kind AND d.source_id = n.source_id
       AND d.recipient_id = n.recipient_id AND d.occurrence = n.id
       AND (CASE d.state WHEN 'queued' THEN d.epoch = n.epoch - 1 WHEN 'sending' THEN d.epoch = n.epoch AND d.owner = worker ELSE false END)
       AND EXISTS (
         SELECT 1 FROM hot.reader_of_message(n.customer_id, d.list_id, n.recipient_id) p
          WHERE p.email = n.email AND (n.status IS NULL OR p.status = n.status)
            AND NOT hot.is_message_suppressed(n.customer_id, p.email_key, n.kind))
       AND (n.source_kind <> 2 OR hot.flow_denial(n.customer_id, n.source_id) IS NULL)
       AND (n.source_kind <> 3 OR n.purpose = 'notice' OR hot.customer_denial(n.customer_id) IS NULL)
    RETURNING d.occurrence
  )
  SELECT (SELECT array_agg(s.occurrence) FROM settled s), (SELECT array_agg(k.occurrence) FROM marked_now k);
END $$;

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
