-- Takes a place within the frequency caps for messages of one source to these addresses; a cap is {messages, days, hours of holding}.
-- A message with a place has `taken_at`. One without waits for `delay_seconds`; if these are null, too, it would wait for longer than the
-- cap holds messages, and is not sent. Calls of one customer run one after the other, so that two sources never both take the last
-- place. A message that comes again takes no second place.
CREATE OR REPLACE FUNCTION hot.take_capped(
  customer bigint, list bigint, kind smallint, source bigint, keys text[], occurrences bigint[], customer_cap integer[], list_cap integer[])
RETURNS TABLE (place_no integer, taken_at timestamptz, delay_seconds double precision) LANGUAGE plpgsql
-- Each row is found by its key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  moment timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:frequency-cap:' || customer, 0));
  -- After the lock, and in milliseconds: the caller names its places by it.
  moment := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
  WITH asked AS MATERIALIZED (
    SELECT k.no::integer AS no, k.key, k.occurrence, m.held_since,
           hot.capped_until(customer, NULL, k.key, kind, source, k.occurrence, customer_cap, moment) AS customer_until,
           hot.capped_until(customer, list, k.key, kind, source, k.occurrence, list_cap, moment) AS list_until
      FROM unnest(keys, occurrences) WITH ORDINALITY AS k(key, occurrence, no)
      LEFT JOIN hot.capped_message m ON m.customer_id = customer AND m.email_key = k.key AND m.source_kind = kind
       AND m.source_id = source AND m.occurrence = k.occurrence
  ), judged AS MATERIALIZED (
    SELECT a.no, a.key, a.occurrence, coalesce(a.held_since, moment) AS since, greatest(a.customer_until, a.list_until) AS free_at,
           coalesce(a.held_since, moment) + make_interval(hours => least(
             CASE WHEN a.customer_until IS NOT NULL THEN customer_cap[3] END, CASE WHEN a.list_until IS NOT NULL THEN list_cap[3] END)) AS deadline
      FROM asked a
  ), written AS (
    INSERT INTO hot.capped_message (customer_id, email_key, source_kind, source_id, occurrence, list_id, at, held_since)
    SELECT customer, j.key, kind, source, j.occurrence, list, CASE WHEN j.free_at IS NULL THEN moment END, CASE WHEN j.free_at IS NOT NULL THEN j.since END
      FROM judged j WHERE j.free_at IS NULL OR j.free_at <= j.deadline
    ON CONFLICT (customer_id, email_key, source_kind, source_id, occurrence) DO UPDATE SET at = excluded.at, held_since = excluded.held_since
  ), skipped AS (
    DELETE FROM hot.capped_message m USING judged j
     WHERE j.free_at > j.deadline AND m.customer_id = customer AND m.email_key = j.key AND m.source_kind = kind AND m.source_id = source
       AND m.occurrence = j.occurrence
  )
  -- In full minutes: who has to wait for about as long is looked at together.
  SELECT j.no, CASE WHEN j.free_at IS NULL THEN moment END,
         CASE WHEN j.free_at <= j.deadline
              THEN extract(epoch FROM date_trunc('minute', j.free_at) + interval '1 minute' - moment)::double precision END
    FROM judged j;
END $$;
