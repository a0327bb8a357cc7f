CREATE OR REPLACE FUNCTION hot.count_updated_subscribers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.list_counter c SET
    subscribed = c.subscribed + d.subscribed, unsubscribed = c.unsubscribed + d.unsubscribed,
    unconfirmed = c.unconfirmed + d.unconfirmed, pending = c.pending + d.pending
  FROM (SELECT customer_id, list_id,
               sum(sign) FILTER (WHERE status = 'subscribed') AS subscribed,
               sum(sign) FILTER (WHERE status = 'unsubscribed') AS unsubscribed,
               sum(sign) FILTER (WHERE status = 'unconfirmed') AS unconfirmed,
               sum(sign) FILTER (WHERE status = 'pending') AS pending
          FROM (SELECT o.customer_id, o.list_id, o.status, -1 AS sign FROM before o JOIN after n USING (customer_id, list_id, id) WHERE o.status <> n.status
                UNION ALL
                SELECT n.customer_id, n.list_id, n.status, 1 FROM before o JOIN after n USING (customer_id, list_id, id) WHERE o.status <> n.status) moved
         GROUP BY customer_id, list_id) s,
       LATERAL (SELECT coalesce(s.subscribed, 0) AS subscribed, coalesce(s.unsubscribed, 0) AS unsubscribed,
                       coalesce(s.unconfirmed, 0) AS unconfirmed, coalesce(s.pending, 0) AS pending) d
  WHERE c.customer_id = s.customer_id AND c.list_id = s.list_id;
  RETURN NULL;
END $$;
