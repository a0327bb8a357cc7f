-- Why mails of a customer do not go: null, they do. One that is disabled or being deleted sends nothing more.
CREATE OR REPLACE FUNCTION hot.customer_denial(customer bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM public.customer u WHERE u.id = customer AND u.status = 'active') THEN 'source_deleted' END
$$;

-- Reserves a slice of the budget for one sending job. Deliveries and reservations are read in one snapshot: a job that ends
-- between two reads would be in neither. The quota is counted over a sliding window (hot.slide_window); without a quota nothing is
-- counted for it, and a later one begins with nothing used. Only campaigns have sending jobs. A caller that still names the period before does not begin a new one.
CREATE OR REPLACE FUNCTION hot.lease_sends(
  customer bigint, kind smallint, source bigint, ledger_day date, from_recipient bigint, to_recipient bigint, job_worker uuid, wanted integer,
  credits_max bigint, period text, quota_max bigint, quota_length text, processes_max integer)
RETURNS TABLE (slice_id bigint, granted integer, refusal text, ends_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  budget    hot.send_budget;
  is_fresh  boolean;
  delivered bigint;
  reserved  bigint;
  running   integer;
  room      bigint;
  times     timestamptz[] := '{}';
  totals    bigint[] := '{}';
BEGIN
  -- Its limit is for sending jobs: a long campaign would hold up all mails of flows.
  IF kind <> 1 THEN processes_max := NULL; END IF;
  INSERT INTO hot.send_budget AS b VALUES (customer, '', 0) ON CONFLICT (customer_id) DO NOTHING;
  SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE;
  is_fresh := budget.credits_period = '' OR (split_part(period, ':', 1)::bigint, period COLLATE "C")
    > (split_part(budget.credits_period, ':', 1)::bigint, budget.credits_period COLLATE "C");
  FOR attempt IN 1..2 LOOP
    SELECT (SELECT coalesce(sum(c.sent + c.unknown), 0) FROM hot.delivery_counter c WHERE c.customer_id = customer),
           coalesce(sum(s.amount), 0), count(*) FILTER (WHERE NOT s.is_over AND s.source_kind = 1)
      INTO delivered, reserved, running
      FROM hot.send_slice s WHERE s.customer_id = customer;
    IF quota_max IS NOT NULL THEN
      SELECT w.times, w.totals INTO times, totals
        FROM hot.slide_window(budget.quota_times, budget.quota_totals, delivered, clock_timestamp(), quota_length::interval) w;
    END IF;
    IF is_fresh OR times <> budget.quota_times OR totals <> budget.quota_totals THEN
      UPDATE hot.send_budget b
         SET credits_period = CASE WHEN is_fresh THEN period ELSE b.credits_period END,
             credits_baseline = CASE WHEN is_fresh THEN delivered ELSE b.credits_baseline END,
             credits_carried = CASE WHEN is_fresh THEN 0 ELSE b.credits_carried END,
             quota_times = times, quota_totals = totals
       WHERE b.customer_id = customer RETURNING b.* INTO budget;
      is_fresh := false;
    END IF;
    IF credits_max IS NULL AND quota_max IS NULL AND processes_max IS NULL THEN
      granted := wanted;
      RETURN NEXT;
      RETURN;
    END IF;
    room := coalesce(least(credits_max - (delivered - budget.credits_baseline), quota_max - (delivered - totals[1])) - reserved, wanted);
    EXIT WHEN attempt = 2 OR (room >= wanted AND running < coalesce(processes_max, running + 1));
    PERFORM hot.end_expired_slices(customer);
  END LOOP;
  granted := CASE WHEN running >= processes_max THEN 0 ELSE greatest(0, least(wanted, room)) END;
  IF granted > 0 THEN
    INSERT INTO hot.send_slice AS s (customer_id, source_kind, source_id, snapshot_on, from_id, to_id, worker, amount)
    VALUES (customer, kind, source, ledger_day, from_recipient, to_recipient, job_worker, granted) RETURNING s.id INTO slice_id;
  ELSE
    refusal := CASE WHEN credits_max <= delivered - budget.credits_baseline THEN 'credits'
                    WHEN quota_max <= delivered - totals[1] THEN 'quota'
                    WHEN running >= processes_max THEN 'processes' ELSE 'held' END;
    IF refusal = 'quota' THEN ends_at := hot.room_in_window_at(times, totals, delivered, quota_max, quota_length::interval); END IF;
  END IF;
  RETURN NEXT;
END $$;

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
    -- The time between two looks at a mail whose flow was stopped does not make it older.
    UPDATE hot.message m SET send_at = coalesce(m.send_at, m.created_at) + (now() - o.looked_at)
      FROM outcome o JOIN settled s ON s.occurrence = o.id
     WHERE o.source_kind = 2 AND o.reason = 'flow_stopped' AND o.reason_before = 'flow_stopped' AND o.looked_at < now()
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
              JOIN hot.message m ON m.customer_id = x.customer_id AND m.id = x.id) n
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
    SELECT q.message_id, d.lease_expires_at FROM hot.message_queue q
      JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
      JOIN hot.delivery d ON d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind
       AND d.source_id = m.source_id AND d.recipient_id = m.recipient_id AND d.occurrence = m.id
     WHERE q.message_id = ANY (taken) AND d.state = 'sending' AND d.lease_expires_at >= now()
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
      FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
     WHERE q.message_id = ANY (taken)
       AND d.snapshot_on = m.snapshot_on AND d.customer_id = m.customer_id AND d.source_kind = m.source_kind
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
