-- Events of campaigns; kinds and data: src/events/event-kinds.ts. Whatever changes a status, each change is recorded.
CREATE OR REPLACE FUNCTION hot.record_campaign_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'campaign_created', n.customer_id, n.uid FROM new_rows n ORDER BY n.id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'campaign_deleted', o.customer_id, o.uid FROM old_rows o ORDER BY o.id;
  ELSE
    INSERT INTO hot.event (kind, customer_id, object_uid, data)
    SELECT 'campaign_status_changed', n.customer_id, n.uid,
           jsonb_build_object('from', o.status, 'to', n.status, 'reason', n.reason_code)
      FROM new_rows n JOIN old_rows o USING (customer_id, id) WHERE n.status <> o.status ORDER BY n.id;
  END IF;
  RETURN NULL;
END $$;
