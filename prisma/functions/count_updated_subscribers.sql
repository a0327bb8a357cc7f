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
          -- Who keeps the status counts once each way: the two are not joined (see record_person_events.sql).
          FROM (SELECT customer_id, list_id, status, -1 AS sign FROM before UNION ALL SELECT customer_id, list_id, status, 1 FROM after) moved
         GROUP BY customer_id, list_id) s,
       LATERAL (SELECT coalesce(s.subscribed, 0) AS subscribed, coalesce(s.unsubscribed, 0) AS unsubscribed,
                       coalesce(s.unconfirmed, 0) AS unconfirmed, coalesce(s.pending, 0) AS pending) d
  WHERE c.customer_id = s.customer_id AND c.list_id = s.list_id
    AND (d.subscribed <> 0 OR d.unsubscribed <> 0 OR d.unconfirmed <> 0 OR d.pending <> 0);
  RETURN NULL;
END $$;
