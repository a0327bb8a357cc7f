-- Messages that are not of a campaign (decision record 0399): mails of lists, of the program itself, tests.

-- Addresses of messages whose reader is on no list. The ids are of the subscribers' sequence: one column names both (0399).
CREATE TABLE hot.message_recipient (
  customer_id bigint      NOT NULL,
  id          bigint      NOT NULL DEFAULT nextval(pg_get_serial_sequence('public.subscriber', 'id')),
  created_at  timestamptz NOT NULL DEFAULT now(),
  email       text        NOT NULL,
  email_key   text        NOT NULL COLLATE pg_catalog."C",
  PRIMARY KEY (customer_id, id)
);
CREATE UNIQUE INDEX message_recipient_by_address ON hot.message_recipient (customer_id, email_key);
CREATE INDEX message_recipient_by_key ON hot.message_recipient (email_key);

CREATE SEQUENCE hot.message_id AS bigint;

-- What to send, and to whom. The ledger has what became of it: its `occurrence` is the id here.
CREATE TABLE hot.message (
  customer_id  bigint      NOT NULL,
  id           bigint      NOT NULL DEFAULT nextval('hot.message_id'),
  source_id    bigint      NOT NULL,
  -- A subscriber of `list_id`, or without a list an address of hot.message_recipient.
  recipient_id bigint      NOT NULL,
  list_id      bigint,
  created_at   timestamptz NOT NULL DEFAULT now(),
  send_at      timestamptz,
  -- The partition of its row in the ledger.
  snapshot_on  date        NOT NULL,
  source_kind  smallint    NOT NULL,
  priority         smallint    NOT NULL,
  kind         text        NOT NULL,
  purpose      text        NOT NULL,
  -- The status on the list in which the recipient is to get it; null: any.
  status       text,
  -- What caused it: one message for each.
  cause        text        NOT NULL,
  -- What is needed to compose it; null: erased.
  content      jsonb,
  PRIMARY KEY (customer_id, id),
  CONSTRAINT message_kind CHECK (kind IN ('security', 'transactional', 'optional', 'marketing'))
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);
ALTER SEQUENCE hot.message_id OWNED BY hot.message.id;
CREATE UNIQUE INDEX message_by_cause ON hot.message (customer_id, cause);
CREATE INDEX message_by_recipient ON hot.message (customer_id, recipient_id, id);
-- Contents are erased by age.
CREATE INDEX message_with_content ON hot.message (created_at) WHERE content IS NOT NULL;

-- What waits to be sent. A row is deleted when its message's outcome is final, so that the ledger needs no further index.
CREATE TABLE hot.message_queue (
  message_id  bigint      NOT NULL PRIMARY KEY,
  customer_id bigint      NOT NULL,
  -- When it is due; of a taken row, when its lease ends.
  not_before  timestamptz NOT NULL,
  owner       uuid,
  priority        smallint    NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX message_queue_by_priority ON hot.message_queue (priority, customer_id, not_before);
CREATE INDEX message_queue_by_owner ON hot.message_queue (owner) WHERE owner IS NOT NULL;
-- Bounces reported by mail or by a vendor count for the server that sent the message.
CREATE OR REPLACE FUNCTION hot.count_bounces_of_warm_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  one record;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.sending_server WHERE warm_up IS NOT NULL) THEN RETURN NULL; END IF;
  FOR one IN SELECT d.server_id, count(*)::integer AS bounced
               FROM inserted i
               LEFT JOIN public.campaign c ON i.source_kind = 1 AND c.customer_id = i.customer_id AND c.id = i.source_id
               LEFT JOIN hot.message m ON i.source_kind <> 1 AND m.customer_id = i.customer_id AND m.id = i.occurrence
               JOIN hot.delivery d ON d.snapshot_on = coalesce(c.snapshot_on, m.snapshot_on) AND d.customer_id = i.customer_id AND d.source_kind = i.source_kind AND d.source_id = i.source_id
                AND d.recipient_id = i.recipient_id AND d.occurrence = i.occurrence
              WHERE i.type = 'hard' AND d.server_id IS NOT NULL AND d.state IN ('sent', 'unknown') GROUP BY 1 ORDER BY 1 LOOP
    -- It was counted as accepted before, so one less was delivered.
    PERFORM hot.record_warm_up(one.server_id, -one.bounced, one.bounced);
  END LOOP;
  RETURN NULL;
END $$;

-- Closes messages that were waiting before a moment, without sending them: after a backup was restored the original installation has
-- sent them. One that was being handed over when the backup was made is `unknown`; one that is being handed over now keeps its course.
CREATE OR REPLACE FUNCTION hot.drop_messages(before timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  dropped integer;
BEGIN
  WITH old AS (
    SELECT m.* FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
     WHERE m.created_at < before ORDER BY q.message_id FOR UPDATE OF q
  ), closed AS (
    UPDATE hot.delivery d
       SET state = CASE d.state WHEN 'queued' THEN 'skipped' ELSE 'unknown' END::hot.delivery_state, reason = 'restored_from_backup',
           not_before = NULL, owner = NULL, lease_expires_at = NULL, updated_at = now()
      FROM old o
     WHERE d.snapshot_on = o.snapshot_on AND d.customer_id = o.customer_id AND d.source_kind = o.source_kind AND d.source_id = o.source_id
       AND d.recipient_id = o.recipient_id AND d.occurrence = o.id
       AND (d.state = 'queued' OR d.state = 'sending' AND d.lease_expires_at < now())
    RETURNING d.occurrence
  ), gone AS (
    DELETE FROM hot.message_queue q USING closed c WHERE q.message_id = c.occurrence
  )
  SELECT count(*) INTO dropped FROM closed;
  RETURN dropped;
END $$;

-- Writes messages that are not of a campaign: what to send (hot.message), their rows in the ledger, and that they wait
-- (hot.message_queue), with one statement each for however many. A message whose cause the customer has already is left out. Without
-- a recipient the address is looked up in hot.message_recipient, and added there. Returns what is new.
CREATE OR REPLACE FUNCTION hot.enqueue_messages(
  customers bigint[], kinds smallint[], sources bigint[], recipients bigint[], emails text[], email_keys text[], lists bigint[],
  priorities smallint[], mail_kinds text[], purposes text[], statuses text[], causes text[], contents jsonb[], times timestamptz[])
RETURNS TABLE (message_id bigint, message_cause text) LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
BEGIN
  -- Partitions are made months ahead; nobody's sign-up fails because that was not done.
  IF to_regclass('hot.delivery_' || to_char(current_date, 'YYYY_MM')) IS NULL THEN
    PERFORM hot.ensure_partitions(current_date, current_date);
  END IF;
  INSERT INTO hot.message_recipient (customer_id, email, email_key)
  SELECT DISTINCT ON (g.customer_id, g.email_key) g.customer_id, g.email, g.email_key
    FROM unnest(customers, recipients, emails, email_keys) AS g(customer_id, recipient_id, email, email_key)
   WHERE g.recipient_id IS NULL ORDER BY g.customer_id, g.email_key
  ON CONFLICT (customer_id, email_key) DO NOTHING;
  -- A statement of its own: it sees addresses that another transaction has just added.
  RETURN QUERY
  WITH given AS (
    SELECT g.*, coalesce(g.recipient_id, r.id) AS known_id
      FROM unnest(customers, kinds, sources, recipients, email_keys, lists, priorities, mail_kinds, purposes, statuses, causes, contents, times)
           WITH ORDINALITY AS g(customer_id, source_kind, source_id, recipient_id, email_key, list_id, priority, kind, purpose, status, cause, content, send_at, no)
      LEFT JOIN hot.message_recipient r ON g.recipient_id IS NULL AND r.customer_id = g.customer_id AND r.email_key = g.email_key
  ), written AS (
    INSERT INTO hot.message (customer_id, source_kind, source_id, recipient_id, list_id, priority, kind, purpose, status, cause, content, send_at, snapshot_on)
    SELECT g.customer_id, g.source_kind, g.source_id, g.known_id, g.list_id, g.priority, g.kind, g.purpose, g.status, g.cause, g.content, g.send_at, current_date
      FROM given g ORDER BY g.no
    ON CONFLICT (customer_id, cause) DO NOTHING
    RETURNING *
  ), ledger AS (
    INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, occurrence, list_id, email, not_before)
    SELECT w.snapshot_on, w.customer_id, w.source_kind, w.source_id, w.recipient_id, w.id, w.list_id, coalesce(p.email, ''), w.send_at
      FROM written w
      LEFT JOIN LATERAL (
        SELECT s.email FROM public.subscriber s
         WHERE w.list_id IS NOT NULL AND s.customer_id = w.customer_id AND s.list_id = w.list_id AND s.id = w.recipient_id
        UNION ALL
        SELECT r.email FROM hot.message_recipient r
         WHERE w.list_id IS NULL AND r.customer_id = w.customer_id AND r.id = w.recipient_id LIMIT 1) p ON true
  ), queue AS (
    INSERT INTO hot.message_queue (message_id, customer_id, priority, not_before)
    SELECT w.id, w.customer_id, w.priority, coalesce(w.send_at, now()) FROM written w
  )
  SELECT w.id, w.cause FROM written w ORDER BY w.id;
  IF FOUND THEN PERFORM pg_notify('messages', ''); END IF;
END $$;

-- Whether a message of this kind must not go to the address: suppressed by the customer or the installation. Only a complaint lets
-- one kind pass: `security` (decision D94).
CREATE OR REPLACE FUNCTION hot.is_message_suppressed(customer bigint, key text, kind text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM public.suppression x
                  WHERE x.customer_id IN (0, customer) AND x.email_key = key AND NOT (kind = 'security' AND x.reason = 'complaint'))
$$;

-- The recipient of a message as he is now: a subscriber of the list, or without a list an address of hot.message_recipient. Who is
-- pending after the confirmation's time is `unconfirmed`, also before the job says so.
CREATE OR REPLACE FUNCTION hot.reader_of_message(customer bigint, list bigint, recipient bigint)
RETURNS TABLE (email text, email_key text, status text, fields jsonb, pending_until timestamptz) LANGUAGE sql STABLE AS $$
  SELECT s.email, s.email_key, CASE WHEN s.status = 'pending' AND s.pending_until <= now() THEN 'unconfirmed' ELSE s.status END,
         s.fields, s.pending_until
    FROM public.subscriber s WHERE list IS NOT NULL AND s.customer_id = customer AND s.list_id = list AND s.id = recipient
  UNION ALL
  SELECT r.email, r.email_key, NULL, '{}'::jsonb, NULL
    FROM hot.message_recipient r WHERE list IS NULL AND r.customer_id = customer AND r.id = recipient
$$;

-- Records outcomes of messages that are not of a campaign, and marks the next ones as `sending`, for all customers and sources
-- together. The rules are those of hot.record_and_mark: a row is written only by who holds its epoch, and marked only while the
-- address that was read is the recipient's. Who may be mailed depends on the message: the status on the list that it is for, or
-- none; and suppressions, of which a complaint does not stop kind `security` (decision D94).
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
    SELECT o.*, m.snapshot_on, m.source_kind, m.source_id, m.recipient_id
      FROM unnest(ids, customers, epochs, states, tries, replies, reasons, message_ids, message_keys, delays, unanswered, servers)
        AS o(id, customer_id, epoch, state, is_try, reply, reason, message_id, message_key, delay_seconds, is_unanswered, server_id)
      JOIN hot.message m ON m.customer_id = o.customer_id AND m.id = o.id
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
    RETURNING d.occurrence, d.customer_id, d.source_kind, d.source_id, d.recipient_id, d.state, d.not_before
  ), closed AS (
    DELETE FROM hot.message_queue q USING settled s WHERE q.message_id = s.occurrence AND s.state <> 'queued'
  ), again AS (
    UPDATE hot.message_queue q SET owner = NULL, not_before = s.not_before FROM settled s WHERE q.message_id = s.occurrence AND s.state = 'queued'
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
      FROM (SELECT x.*, m.snapshot_on, m.source_kind, m.source_id, m.recipient_id, m.status, m.kind
              FROM unnest(next_ids, next_customers, next_epochs, next_emails, next_servers) AS x(id, customer_id, epoch, email, server_id)
              JOIN hot.message m ON m.customer_id = x.customer_id AND m.id = x.id) n
     WHERE d.snapshot_on = n.snapshot_on AND d.customer_id = n.customer_id AND d.source_kind = n.source_kind AND d.source_id = n.source_id
       AND d.recipient_id = n.recipient_id AND d.occurrence = n.id
       AND (CASE d.state WHEN 'queued' THEN d.epoch = n.epoch - 1 WHEN 'sending' THEN d.epoch = n.epoch AND d.owner = worker ELSE false END)
       AND EXISTS (
         SELECT 1 FROM hot.reader_of_message(n.customer_id, d.list_id, n.recipient_id) p
          WHERE p.email = n.email AND (n.status IS NULL OR p.status = n.status)
            AND NOT hot.is_message_suppressed(n.customer_id, p.email_key, n.kind))
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
    RETURNING d.occurrence, d.state
  ), parked AS (
    DELETE FROM hot.message_queue q USING ended e WHERE q.message_id = e.occurrence AND e.state = 'unknown' RETURNING q.message_id
  )
  SELECT array_agg(p.message_id) INTO lost FROM parked p;
  RETURN QUERY SELECT t FROM unnest(taken) AS t WHERE lost IS NULL OR t <> ALL (lost);
END $$;
