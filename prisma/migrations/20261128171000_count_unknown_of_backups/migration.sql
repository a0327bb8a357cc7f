-- Mails of automations whose outcome is unknown since a backup was restored are counted as such: their owner decides about them.
-- Closes messages that were waiting before a moment, without sending them: after a backup was restored the original installation has
-- sent them. One that was being handed over when the backup was made is `unknown`, and counted so if it takes credits; one that is being
-- handed over now keeps its course.
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
    RETURNING d.occurrence, d.state, d.customer_id, d.source_kind, d.source_id, o.source_kind = 2 OR (o.source_kind = 3 AND o.priority = 30) AS takes_credits
  ), counted AS (
    INSERT INTO hot.delivery_counter AS c (customer_id, source_kind, source_id, audience, unknown)
    SELECT e.customer_id, e.source_kind, e.source_id, count(*), count(*)
      FROM closed e WHERE e.takes_credits AND e.state = 'unknown' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (customer_id, source_kind, source_id) DO UPDATE SET audience = c.audience + excluded.audience, unknown = c.unknown + excluded.unknown
  ), gone AS (
    DELETE FROM hot.message_queue q USING closed c WHERE q.message_id = c.occurrence
  )
  SELECT count(*) INTO dropped FROM closed;
  RETURN dropped;
END $$;
