-- The recipient of a message as he is now: a subscriber of the list, or without a list an address of hot.message_recipient. Who is
-- pending after the confirmation's time is `unconfirmed`, also before the job says so. By the order of the ids the primary key is the only index for it:
-- by old statistics that of addresses looks as good, and all of the customer's people were read for each.
CREATE OR REPLACE FUNCTION hot.reader_of_message(customer bigint, list bigint, recipient bigint)
RETURNS TABLE (email text, email_key text, status text, fields jsonb, pending_until timestamptz) LANGUAGE sql STABLE AS $$
  (SELECT s.email, s.email_key, CASE WHEN s.status = 'pending' AND s.pending_until <= now() THEN 'unconfirmed' ELSE s.status END,
          s.fields, s.pending_until
     FROM public.subscriber s WHERE list IS NOT NULL AND s.customer_id = customer AND s.list_id = list AND s.id BETWEEN recipient AND recipient
    ORDER BY s.id LIMIT 1)
  UNION ALL
  SELECT r.email, r.email_key, NULL, '{}'::jsonb, NULL
    FROM hot.message_recipient r WHERE list IS NULL AND r.customer_id = customer AND r.id = recipient
$$;
