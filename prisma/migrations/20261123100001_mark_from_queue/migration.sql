-- The ledger's hot write takes rows straight from the queue: a row that a job has only read comes with the epoch that it
-- will have, and whoever marks it first has it. Leasing a range beforehand cost one more update a message. Rows that
-- were leased all the same (where a plan's budget must be able to take them back) are marked as before, and so are, when a
-- write is repeated, those that this worker has marked already.
CREATE OR REPLACE FUNCTION hot.settle_deliveries(
  ledger_day date, ledger_customer bigint, ledger_campaign bigint, list bigint, worker uuid, server bigint, lease interval,
  ids bigint[], epochs integer[], states hot.delivery_state[], tries boolean[], replies text[], reasons text[],
  message_ids text[], delays double precision[], next_ids bigint[], next_epochs integer[])
RETURNS TABLE (kind text, value bigint) LANGUAGE plpgsql
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
  SELECT 'marked', m.subscriber_id FROM marked m
  UNION ALL SELECT 'recorded', count(*) FROM settled
  UNION ALL SELECT 'sending', c.is_sending::integer::bigint FROM campaign c;
END $$;
