-- Bounces that come by mail or by a vendor's call count for the server that sent the message.
CREATE OR REPLACE FUNCTION hot.count_bounces_of_warm_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  one record;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.sending_server WHERE warm_up IS NOT NULL) THEN RETURN NULL; END IF;
  FOR one IN SELECT d.server_id, count(*)::integer AS bounced
               FROM inserted i
               JOIN public.campaign c ON c.customer_id = i.customer_id AND c.id = i.campaign_id AND c.snapshot_on IS NOT NULL
               JOIN hot.delivery d ON d.snapshot_on = c.snapshot_on AND d.customer_id = i.customer_id AND d.campaign_id = i.campaign_id AND d.subscriber_id = i.subscriber_id
              WHERE i.type = 'hard' AND d.server_id IS NOT NULL AND d.state IN ('sent', 'unknown') GROUP BY 1 ORDER BY 1 LOOP
    -- It was counted as accepted before: one fewer arrived.
    PERFORM hot.record_warm_up(one.server_id, -one.bounced, one.bounced);
  END LOOP;
  RETURN NULL;
END $$;
