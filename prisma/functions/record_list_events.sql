-- Events of lists; kinds and data: src/events/event-kinds.ts. Only changes that a person made have a new `updated_at`.
CREATE OR REPLACE FUNCTION hot.record_list_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'list_created', n.customer_id, n.uid FROM new_rows n ORDER BY n.id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'list_deleted', o.customer_id, o.uid FROM old_rows o ORDER BY o.id;
  ELSE
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'list_changed', n.customer_id, n.uid FROM new_rows n JOIN old_rows o USING (customer_id, id)
     WHERE n.updated_at <> o.updated_at ORDER BY n.id;
  END IF;
  RETURN NULL;
END $$;
