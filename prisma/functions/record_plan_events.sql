-- Events of plans; kinds and data: src/events/event-kinds.ts. A plan that is referred to is deleted by its status.
CREATE OR REPLACE FUNCTION hot.record_plan_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.event (kind, object_uid) SELECT 'plan_created', n.uid FROM new_rows n ORDER BY n.id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO hot.event (kind, object_uid)
    SELECT 'plan_deleted', o.uid FROM old_rows o WHERE o.status <> 'deleted' ORDER BY o.id;
  ELSE
    INSERT INTO hot.event (kind, object_uid, data)
    SELECT CASE WHEN n.status = o.status THEN 'plan_changed' WHEN n.status = 'deleted' THEN 'plan_deleted' ELSE 'plan_status_changed' END, n.uid,
           CASE WHEN n.status IN (o.status, 'deleted') THEN '{}' ELSE jsonb_build_object('from', o.status, 'to', n.status) END
      FROM new_rows n JOIN old_rows o USING (id) WHERE n.updated_at <> o.updated_at OR n.status <> o.status ORDER BY n.id;
  END IF;
  RETURN NULL;
END $$;
