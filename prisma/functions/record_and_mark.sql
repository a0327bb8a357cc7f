-- Records outcomes and marks the next recipients as `sending`. The caller passes the address that it read for each message; a
-- recipient whose address has changed since is not marked: the row stays queued and is read again. So the suppressions that are
-- checked are those of the address on the envelope, and the ledger keeps the address that was really used (0311). OFFSET 0 makes
-- each suppression a separate look-up: as a join they were all read again for each recipient where nested loops are off.
CREATE OR REPLACE FUNCTION hot.record_and_mark(
  ledger_day date, ledger_customer bigint, ledger_kind smallint, ledger_source bigint, worker uuid, server bigint, lease interval,
  ids bigint[], occurrences bigint[], epochs integer[], states hot.delivery_state[], tries boolean[], replies text[], reasons text[],
  message_ids text[], delays double precision[], unanswered boolean[],
  next_ids bigint[], next_occurrences bigint[], next_epochs integer[], next_emails text[], content integer)
RETURNS TABLE (recorded integer, goes_on boolean, not_marked integer[]) LANGUAGE plpgsql
-- Each row is found by its key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  -- Until the commit no other transaction changes the campaign's text. The following statements read the campaign after the lock
  -- was taken.
  IF ledger_kind = 1 AND cardinality(next_ids) > 0 THEN
    PERFORM pg_advisory_xact_lock_shared(hot.content_lock(ledger_source));
  END IF;
  RETURN QUERY
  WITH settled AS (
    UPDATE hot.delivery d
       SET state = o.state, epoch = o.epoch, reply = o.reply, reason = o.reason, runtime_message_id = o.message_id,
           attempts = d.attempts + o.is_try::integer, updated_at = now(), server_id = coalesce(server, d.server_id),
           ambiguous_count = d.ambiguous_count + o.is_unanswered::integer,
           not_before = CASE WHEN o.state = 'queued' THEN now() + make_interval(secs => o.delay_seconds) END,
           owner = CASE WHEN o.state = 'unknown' THEN d.owner END, lease_expires_at = NULL,
           -- Closed without being sent: the address that was checked.
           email = CASE WHEN o.state IN ('skipped', 'suppressed')
                        THEN coalesce((SELECT s.email FROM public.subscriber s
                                        WHERE s.customer_id = ledger_customer AND s.list_id = d.list_id AND s.id = d.recipient_id), d.email)
                        ELSE d.email END
      FROM unnest(ids, occurrences, epochs, states, tries, replies, reasons, message_ids, delays, unanswered)
        AS o(recipient_id, occurrence, epoch, state, is_try, reply, reason, message_id, delay_seconds, is_unanswered)
     WHERE d.snapshot_on = ledger_day AND d.customer_id = ledger_customer AND d.source_kind = ledger_kind AND d.source_id = ledger_source
       AND d.recipient_id = ANY(ids) AND d.recipient_id = o.recipient_id AND d.occurrence = o.occurrence
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
     WHERE c.customer_id = ledger_customer AND c.source_kind = ledger_kind AND c.source_id = ledger_source AND t.closed > 0
  ), source AS (
    -- In the result and not in the condition: so the row is found by its key only, whatever the statistics say about states.
    SELECT ledger_kind <> 1 OR coalesce(bool_or(c.status = 'sending' AND c.content_version = content), false) AS goes_on FROM public.campaign c
     WHERE ledger_kind = 1 AND c.customer_id = ledger_customer AND c.id = ledger_source
  ), marked AS (
    UPDATE hot.delivery d
       SET state = 'sending', epoch = n.epoch, owner = worker, lease_expires_at = now() + lease, updated_at = now(), server_id = server,
           email = n.email
      FROM unnest(next_ids, next_occurrences, next_epochs, next_emails) WITH ORDINALITY AS n(recipient_id, occurrence, epoch, email, no)
     WHERE d.snapshot_on = ledger_day AND d.customer_id = ledger_customer AND d.source_kind = ledger_kind AND d.source_id = ledger_source
       AND d.recipient_id = ANY(next_ids) AND d.recipient_id = n.recipient_id AND d.occurrence = n.occurrence
       AND (CASE d.state WHEN 'queued' THEN d.epoch = n.epoch - 1 AND (d.not_before IS NULL OR d.not_before <= now())
            WHEN 'sending' THEN d.epoch = n.epoch AND d.owner = worker WHEN 'leased' THEN d.epoch = n.epoch AND d.owner = worker ELSE false END)
       AND (SELECT source.goes_on FROM source)
       AND EXISTS (SELECT 1 FROM public.subscriber s
                    WHERE s.customer_id = ledger_customer AND s.list_id = d.list_id AND s.id = n.recipient_id AND s.status = 'subscribed'
                      AND s.email = n.email
                      AND NOT EXISTS (SELECT 1 FROM public.suppression x
                                       WHERE x.customer_id IN (0, ledger_customer) AND x.email_key = s.email_key OFFSET 0)
                    -- Both keep it one look-up per row. As a join it may read the whole list, or all suppressions, each time.
                    OFFSET 0)
    RETURNING n.no
  )
  SELECT (SELECT count(*) FROM settled)::integer, c.goes_on,
         CASE WHEN (SELECT count(*) FROM marked) < cardinality(next_ids)
              THEN (SELECT array_agg(i) FROM generate_subscripts(next_ids, 1) AS i WHERE i NOT IN (SELECT m.no FROM marked m)) END
    FROM source c;
END $$;
-- Before version 17 PostgreSQL may check the ids after reading all rows of the campaign. There each row is read by a separate
-- look-up.
DO $$
BEGIN
  IF current_setting('server_version_num')::integer < 170000 THEN
    ALTER FUNCTION hot.record_and_mark SET enable_nestloop = on;
    ALTER FUNCTION hot.record_and_mark SET enable_hashjoin = off;
  END IF;
END $$;
