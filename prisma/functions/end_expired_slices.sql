-- Ends the slices of dead workers, and abandoned ones. Rows that a dead worker had leased and not started are free under a new
-- epoch, so that a worker that was only cut off cannot start them; rows it had started stay reserved until their outcome is
-- known.
CREATE OR REPLACE FUNCTION hot.end_expired_slices(customer bigint) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  slice    record;
  is_alive boolean;
  held     integer;
BEGIN
  FOR slice IN SELECT * FROM hot.send_slice s
                WHERE s.customer_id = customer
                  AND (s.is_over OR s.leased_at < clock_timestamp() - interval '5 minutes' OR NOT hot.is_worker_alive(s.worker)) LOOP
    is_alive := NOT slice.is_over AND hot.is_worker_alive(slice.worker);
    IF NOT slice.is_over AND NOT is_alive THEN
      UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
       WHERE d.snapshot_on = slice.snapshot_on AND d.customer_id = customer AND d.source_kind = slice.source_kind AND d.source_id = slice.source_id
         AND d.recipient_id BETWEEN slice.from_id AND slice.to_id AND d.state = 'leased' AND d.owner = slice.worker;
    END IF;
    SELECT count(*) INTO held FROM hot.delivery d
     WHERE d.snapshot_on = slice.snapshot_on AND d.customer_id = customer AND d.source_kind = slice.source_kind AND d.source_id = slice.source_id
       AND d.recipient_id BETWEEN slice.from_id AND slice.to_id AND d.owner = slice.worker
       AND (d.state = 'sending' OR (is_alive AND d.state = 'leased'));
    IF held = 0 THEN DELETE FROM hot.send_slice s WHERE s.customer_id = customer AND s.id = slice.id;
    ELSIF NOT is_alive THEN
      UPDATE hot.send_slice s SET amount = held, is_over = true WHERE s.customer_id = customer AND s.id = slice.id;
    END IF;
  END LOOP;
END $$;
