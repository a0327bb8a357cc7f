-- Writes messages that are not of a campaign: what to send (hot.message), their rows in the ledger, and that they wait
-- (hot.message_queue), with one statement each for however many. A message whose cause the customer has already is left out. Without
-- a recipient the address is looked up in hot.message_recipient, and added there. Returns what is new.
CREATE OR REPLACE FUNCTION hot.enqueue_messages(
  customers bigint[], kinds smallint[], sources bigint[], recipients bigint[], emails text[], email_keys text[], lists bigint[],
  priorities smallint[], mail_kinds text[], purposes text[], statuses text[], causes text[], contents jsonb[], times timestamptz[])
RETURNS TABLE (message_id bigint, message_cause text) LANGUAGE plpgsql SET timezone TO 'UTC'
-- Each row is found by its key, and planning the statements took longer than running them: they are planned once.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
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
