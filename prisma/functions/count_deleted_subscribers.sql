CREATE OR REPLACE FUNCTION hot.count_deleted_subscribers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.list_counter c SET
    subscribed = c.subscribed - d.subscribed, unsubscribed = c.unsubscribed - d.unsubscribed,
    unconfirmed = c.unconfirmed - d.unconfirmed, pending = c.pending - d.pending
  FROM (SELECT customer_id, list_id,
               count(*) FILTER (WHERE status = 'subscribed') AS subscribed,
               count(*) FILTER (WHERE status = 'unsubscribed') AS unsubscribed,
               count(*) FILTER (WHERE status = 'unconfirmed') AS unconfirmed,
               count(*) FILTER (WHERE status = 'pending') AS pending
          FROM deleted GROUP BY customer_id, list_id) d
  WHERE c.customer_id = d.customer_id AND c.list_id = d.list_id;
  UPDATE hot.subscriber_block b SET members = b.members - d.members
  FROM (SELECT customer_id, list_id, id >> 11 AS block, count(*) AS members FROM deleted GROUP BY 1, 2, 3) d
  WHERE b.customer_id = d.customer_id AND b.list_id = d.list_id AND b.block = d.block;
  RETURN NULL;
END $$;
