-- Events of customers; kinds and data: src/events/event-kinds.ts. A customer being deleted is not found any more: that is when it
-- is gone for others, its row is erased later.
CREATE OR REPLACE FUNCTION hot.record_customer_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'customer_added', n.id, n.uid FROM new_rows n ORDER BY n.id;
  ELSE
    INSERT INTO hot.event (kind, customer_id, object_uid, data)
    SELECT CASE n.status WHEN 'deleting' THEN 'customer_deleted' ELSE 'customer_status_changed' END, n.id, n.uid,
           CASE n.status WHEN 'deleting' THEN '{}' ELSE jsonb_build_object('from', o.status, 'to', n.status) END
      FROM new_rows n JOIN old_rows o USING (id) WHERE n.status <> o.status ORDER BY n.id;
  END IF;
  RETURN NULL;
END $$;
