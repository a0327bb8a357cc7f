-- Opens, clicks and unsubscribes that a webhook of their customer asks for: taken up by a follower, which makes deliveries. The arguments are
-- the event, and how long it waits: until then clicks that follow each other may turn out to be a machine's. Where no webhook asks for
-- the event, one look-up of an index is all that it costs.
CREATE OR REPLACE FUNCTION hot.note_tracking_for_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted integer;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.event = TG_ARGV[0] AND w.status <> 'inactive' AND w.customer_id IN (SELECT n.customer_id FROM new_rows n)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO hot.webhook_activity (customer_id, event, source_kind, source_id, person_id, occurrence, event_id, at, due_at)
  SELECT n.customer_id, TG_ARGV[0], n.source_kind, n.source_id, n.recipient_id, n.occurrence, n.id, n.at, now() + TG_ARGV[1]::interval
    FROM new_rows n
   -- OFFSET 0 keeps it a look-up for each row, whatever the plan was made for.
   WHERE EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.customer_id = n.customer_id AND w.event = TG_ARGV[0] AND w.status <> 'inactive'
                    AND (w.campaign_id IS NULL OR n.source_kind = 1 AND w.campaign_id = n.source_id)
                    AND (w.template_id IS NULL OR n.source_kind IN (2, 3)) OFFSET 0)
   ORDER BY n.id;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted > 0 THEN
    PERFORM pg_notify('webhook_activity', '');
  END IF;
  RETURN NULL;
END $$;
