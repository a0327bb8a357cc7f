-- Writes deliveries of webhooks, and that they wait to be sent; of a paused webhook they are kept for a replay. One that the webhook has
-- already (`source_key`) is left out, so that whoever was interrupted may repeat the call. Returns how many are new.
CREATE OR REPLACE FUNCTION hot.add_webhook_deliveries(
  customers bigint[], webhooks bigint[], events text[], source_keys text[], persons bigint[], times timestamptz[], payloads text[])
RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  added integer;
BEGIN
  -- Partitions are made months ahead; no event is lost because that was not done.
  IF EXISTS (SELECT FROM unnest(times) t WHERE to_regclass('hot.webhook_delivery_' || to_char(t, 'YYYY_MM')) IS NULL) THEN
    PERFORM hot.ensure_partitions((SELECT min(t)::date FROM unnest(times) t), (SELECT max(t)::date FROM unnest(times) t));
  END IF;
  WITH made AS (
    INSERT INTO hot.webhook_delivery AS d (made_on, customer_id, webhook_id, event, source_key, person_id, payload, state, next_attempt_at, created_at)
    SELECT n.at::date, n.customer_id, n.webhook_id, n.event, n.source_key, n.person_id, convert_to(n.payload, 'UTF8'),
           CASE w.status WHEN 'active' THEN 'waiting' ELSE 'parked' END, CASE w.status WHEN 'active' THEN now() END, n.at
      FROM unnest(customers, webhooks, events, source_keys, persons, times, payloads) WITH ORDINALITY
           AS n(customer_id, webhook_id, event, source_key, person_id, at, payload, place)
      JOIN public.webhook w ON w.customer_id = n.customer_id AND w.id = n.webhook_id AND w.status <> 'inactive'
     ORDER BY n.place
    ON CONFLICT DO NOTHING
    RETURNING d.made_on, d.customer_id, d.webhook_id, d.id, d.state
  ), queued AS (
    INSERT INTO hot.webhook_queue (delivery_id, made_on, customer_id, webhook_id, receiver, due_at)
    SELECT m.id, m.made_on, m.customer_id, m.webhook_id, w.receiver, now()
      FROM made m JOIN public.webhook w ON w.customer_id = m.customer_id AND w.id = m.webhook_id WHERE m.state = 'waiting'
  )
  SELECT count(*) INTO added FROM made;
  IF added > 0 THEN PERFORM pg_notify('webhooks', ''); END IF;
  RETURN added;
END $$;
