-- What happened to people that a webhook of their customer asks for: taken up by a follower, which makes deliveries. Names and kinds:
-- src/domain/webhooks/customer-webhook-events.ts, src/events/person-event.ts. Where no webhook asks for people, one look-up of an index is all
-- that it costs.
CREATE OR REPLACE FUNCTION hot.note_people_for_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted integer;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.kind = 'subscriber' AND w.status <> 'inactive' AND w.customer_id IN (SELECT n.customer_id FROM new_rows n)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO hot.webhook_activity (customer_id, event, list_id, person_id, at, data)
  SELECT n.customer_id, k.event, n.list_id, n.person_id, n.recorded_at, n.data
    FROM new_rows n
    JOIN (VALUES (1, 'subscriber.added'), (2, 'subscriber.confirmed'), (3, 'subscriber.changed'), (4, 'subscriber.tagged'),
                 (5, 'subscriber.untagged'), (6, 'subscriber.moved'), (7, 'subscriber.unsubscribed'), (8, 'subscriber.removed'),
                 (9, 'subscriber.bounced'), (10, 'subscriber.complained'), (12, 'subscriber.resubscribed')) AS k(kind, event) ON k.kind = n.kind
   -- OFFSET 0 keeps it a look-up for each row, whatever the plan was made for.
   WHERE EXISTS (SELECT 1 FROM public.webhook w
                  WHERE w.customer_id = n.customer_id AND w.event = k.event AND w.status <> 'inactive'
                    AND (w.list_id IS NULL OR w.list_id = n.list_id) OFFSET 0)
   ORDER BY n.id;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted > 0 THEN
    PERFORM pg_notify('webhook_activity', '');
  END IF;
  RETURN NULL;
END $$;
