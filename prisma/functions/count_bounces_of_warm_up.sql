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
