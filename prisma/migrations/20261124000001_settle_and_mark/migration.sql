-- The ledger's hot write answers in one row: it names those who may not go, who are few, where `hot.settle_deliveries`
-- named all that may. That one stays for processes of the version before, which may run beside this one.
CREATE FUNCTION hot.settle_and_mark(
  ledger_day date, ledger_customer bigint, ledger_campaign bigint, list bigint, worker uuid, server bigint, lease interval,
  ids bigint[], epochs integer[], states hot.delivery_state[], tries boolean[], replies text[], reasons text[],
  message_ids text[], delays double precision[], next_ids bigint[], next_epochs integer[])
RETURNS TABLE (recorded integer, goes_on boolean, turned_away bigint[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN QUERY
  WITH outcome AS MATERIALIZED (
    SELECT ledger_customer AS customer_id, ledger_campaign AS campaign_id, o.*
      FROM unnest(ids, epochs, states, tries, replies, reasons, message_ids, delays)
        AS o(subscriber_id, epoch, state, is_try, reply, reason, message_id, delay_seconds)
  ), settled AS (
    UPDATE hot.delivery d
       SET state = o.state, epoch = o.epoch, reply = o.reply, reason = o.reason, runtime_message_id = o.message_id,
           attempts = d.attempts + o.is_try::integer, updated_at = now(), server_id = coalesce(server, d.server_id),
           ambiguous_count = d.ambiguous_count + (o.reason IS NOT DISTINCT FROM 'no answer')::integer,
           not_before = CASE WHEN o.state = 'queued' THEN now() + make_interval(secs => o.delay_seconds) END,
           owner = CASE WHEN o.state = 'unknown' THEN d.owner END, lease_expires_at = NULL
      FROM outcome o
     WHERE d.planned_on = ledger_day AND d.customer_id = o.customer_id AND d.campaign_id = o.campaign_id
       AND d.subscriber_id = o.subscriber_id
       AND (CASE d.state WHEN 'queued' THEN d.epoch = o.epoch - 1
            WHEN 'sending' THEN d.epoch = o.epoch AND d.owner = worker WHEN 'leased' THEN d.epoch = o.epoch AND d.owner = worker ELSE false END)
    RETURNING d.state
  ), counted AS (
    UPDATE hot.delivery_counter c
       SET open = c.open - t.closed, sent = c.sent + t.sent, failed = c.failed + t.failed, skipped = c.skipped + t.skipped,
           suppressed = c.suppressed + t.suppressed, unknown = c.unknown + t.unknown
      FROM (SELECT count(*) FILTER (WHERE state <> 'queued') AS closed, count(*) FILTER (WHERE state = 'sent') AS sent,
                   count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped,
                   count(*) FILTER (WHERE state = 'suppressed') AS suppressed, count(*) FILTER (WHERE state = 'unknown') AS unknown
              FROM settled) t
     WHERE c.customer_id = ledger_customer AND c.campaign_id = ledger_campaign AND t.closed > 0
  ), campaign AS (
    -- As an answer, not a condition: only the key finds the row then, whatever the statistics say of states.
    SELECT coalesce(bool_or(c.status = 'sending'), false) AS is_sending FROM public.campaign c
     WHERE c.customer_id = ledger_customer AND c.id = ledger_campaign
  ), next AS MATERIALIZED (
    SELECT ledger_customer AS customer_id, ledger_campaign AS campaign_id, n.* FROM unnest(next_ids, next_epochs) AS n(subscriber_id, epoch)
  ), marked AS (
    UPDATE hot.delivery d
       SET state = 'sending', epoch = n.epoch, owner = worker, lease_expires_at = now() + lease, updated_at = now(), server_id = server
      FROM next n
     WHERE d.planned_on = ledger_day AND d.customer_id = n.customer_id AND d.campaign_id = n.campaign_id
       AND d.subscriber_id = n.subscriber_id
       AND (CASE d.state WHEN 'queued' THEN d.epoch = n.epoch - 1 AND (d.not_before IS NULL OR d.not_before <= now())
            WHEN 'sending' THEN d.epoch = n.epoch AND d.owner = worker WHEN 'leased' THEN d.epoch = n.epoch AND d.owner = worker ELSE false END)
       AND (SELECT is_sending FROM campaign)
       AND EXISTS (SELECT 1 FROM public.subscriber s
                    WHERE s.customer_id = ledger_customer AND s.list_id = list AND s.id = n.subscriber_id AND s.status = 'subscribed'
                      AND NOT EXISTS (SELECT 1 FROM public.suppression x
                                       WHERE x.customer_id IN (0, ledger_customer) AND x.email_key = s.email_key)
                    -- Keeps it a look-up a row. As a join it may read the whole list, and its suppressions, each time.
                    OFFSET 0)
    RETURNING d.subscriber_id
  )
  SELECT (SELECT count(*) FROM settled)::integer, c.is_sending,
         CASE WHEN (SELECT count(*) FROM marked) < cardinality(next_ids)
              THEN (SELECT array_agg(n.subscriber_id) FROM next n WHERE n.subscriber_id NOT IN (SELECT m.subscriber_id FROM marked m)) END
    FROM campaign c;
END $$;

-- More room on each page of the ledger: with 45 % filled one of seven updates still went to another page and into the
-- index, with 36 % none does. Pages that exist stay as they are; nothing is rewritten.
CREATE OR REPLACE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE WHEN parent = 'delivery' THEN ' WITH (fillfactor = 36)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Partitions that will still be written to. A lock that only other changes of the table and a vacuum wait for.
DO $$
DECLARE
  partition regclass;
BEGIN
  FOR partition IN SELECT c.oid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                    WHERE i.inhparent = 'hot.delivery'::regclass AND c.relname >= 'delivery_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM') LOOP
    EXECUTE format('ALTER TABLE %s SET (fillfactor = 36)', partition);
  END LOOP;
END $$;
