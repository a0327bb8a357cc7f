-- The time for which something held a message back that ends by itself does not make it older. It was added to send_at, which then said something
-- else than its sender had asked for.
-- From when its age counts; null: from send_at, or from when it was made.
ALTER TABLE hot.message ADD COLUMN age_from timestamptz;

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
    UPDATE hot.message m SET age_from = coalesce(m.age_from, m.send_at, m.created_at) + (now() - o.looked_at)
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
