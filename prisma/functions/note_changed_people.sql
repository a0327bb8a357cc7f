-- The same for people who have changed: in one of the fields that the trigger reads, or, when it names none, in anything that rules of
-- segments can ask for.
CREATE OR REPLACE FUNCTION hot.note_changed_people() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  enters boolean := coalesce(current_setting('mailwright.run_automations', true), '') <> 'off';
  depths jsonb   := nullif(current_setting('mailwright.flow_depths', true), '')::jsonb;
BEGIN
  INSERT INTO hot.flow_changed (customer_id, trigger_id, person_id, enters, depth)
  SELECT c.customer_id, t.id, c.id, enters, coalesce((depths ->> c.id::text)::smallint, 0)
    -- Why not an inner join: see record_person_events.sql.
    FROM (SELECT customer_id, list_id, id, o.fields AS old_fields, n.fields, o.status AS old_status, n.status,
                 (o.tags, o.status, o.email_key, o.verification) IS DISTINCT FROM (n.tags, n.status, n.email_key, n.verification) AS has_changed
            FROM before o FULL JOIN after n USING (customer_id, list_id, id) OFFSET 0) c
   CROSS JOIN LATERAL (SELECT t.id, t.fields FROM hot.flow_trigger t
                        WHERE t.customer_id = c.customer_id AND t.list_id = c.list_id AND t.state = 'live' OFFSET 0) t
   WHERE c.status IS NOT NULL AND c.old_status IS NOT NULL
     AND CASE WHEN t.fields IS NULL THEN c.has_changed OR c.old_fields IS DISTINCT FROM c.fields
              ELSE EXISTS (SELECT 1 FROM unnest(t.fields) AS f (tag) WHERE c.old_fields ->> f.tag IS DISTINCT FROM c.fields ->> f.tag) END;
  RETURN NULL;
END $$;
