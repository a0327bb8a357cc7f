-- After messages that took places at `taken` were handed over, or were not: by the ledger, those that may have been sent keep their place
-- from now on, the others give it back. Places that were taken again since are left alone.
CREATE OR REPLACE FUNCTION hot.end_capped(
  customer bigint, kind smallint, source bigint, ledger_day date, keys text[], recipients bigint[], occurrences bigint[], taken timestamptz)
RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:frequency-cap:' || customer, 0));
  WITH ended AS MATERIALIZED (
    -- One that is tried again after an unknown outcome may have been sent, too. So may one whose row was deleted meanwhile.
    SELECT k.key, k.occurrence, coalesce(d.state IN ('sent', 'unknown', 'sending') OR d.state = 'queued' AND d.ambiguous_count > 0, true) AS counts
      FROM unnest(keys, recipients, occurrences) AS k(key, recipient_id, occurrence)
      LEFT JOIN LATERAL (
        SELECT l.state, l.ambiguous_count FROM hot.delivery l
         WHERE l.snapshot_on = ledger_day AND l.customer_id = customer AND l.source_kind = kind AND l.source_id = source
           AND l.recipient_id = k.recipient_id AND l.occurrence = k.occurrence OFFSET 0) d ON true
  ), kept AS (
    UPDATE hot.capped_message m SET at = clock_timestamp() FROM ended e
     WHERE e.counts AND m.customer_id = customer AND m.email_key = e.key AND m.source_kind = kind AND m.source_id = source
       AND m.occurrence = e.occurrence AND m.at = taken
  )
  DELETE FROM hot.capped_message m USING ended e
   WHERE NOT e.counts AND m.customer_id = customer AND m.email_key = e.key AND m.source_kind = kind AND m.source_id = source
     AND m.occurrence = e.occurrence AND m.at = taken;
END $$;
