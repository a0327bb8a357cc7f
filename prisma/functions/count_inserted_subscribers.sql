CREATE OR REPLACE FUNCTION hot.count_inserted_subscribers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.list_counter AS c (customer_id, list_id, subscribed, unsubscribed, unconfirmed, pending)
  SELECT customer_id, list_id,
         count(*) FILTER (WHERE status = 'subscribed'), count(*) FILTER (WHERE status = 'unsubscribed'),
         count(*) FILTER (WHERE status = 'unconfirmed'), count(*) FILTER (WHERE status = 'pending')
    FROM inserted GROUP BY customer_id, list_id ORDER BY customer_id, list_id
  ON CONFLICT (customer_id, list_id) DO UPDATE SET
    subscribed = c.subscribed + excluded.subscribed, unsubscribed = c.unsubscribed + excluded.unsubscribed,
    unconfirmed = c.unconfirmed + excluded.unconfirmed, pending = c.pending + excluded.pending;
  INSERT INTO hot.subscriber_block AS b (customer_id, list_id, block, members)
  SELECT customer_id, list_id, id >> 11, count(*) FROM inserted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (customer_id, list_id, block) DO UPDATE SET members = b.members + excluded.members;
  RETURN NULL;
END $$;
