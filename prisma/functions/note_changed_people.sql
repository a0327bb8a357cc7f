-- The same for people who have changed: in one of the fields that the trigger reads, or, when it names none, in anything that rules of
-- segments can ask for.
CREATE OR REPLACE FUNCTION hot.note_changed_people() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  enters boolean := coalesce(current_setting('mailwright.run_automations', true), '') <> 'off';
  depths jsonb   := nullif(current_setting('mailwright.flow_depths', true), '')::jsonb;
BEGIN
  INSERT INTO hot.flow_changed (customer_id, trigger_id, person_id, enters, depth)
  SELECT n.customer_id, t.id, n.id, enters, coalesce((depths ->> n.id::text)::smallint, 0)
    FROM hot.flow_trigger t
    JOIN after n ON n.customer_id = t.customer_id AND n.list_id = t.list_id
    JOIN before o ON o.customer_id = n.customer_id AND o.list_id = n.list_id AND o.id = n.id
   WHERE t.state = 'live'
     AND CASE WHEN t.fields IS NULL
              THEN (o.fields, o.tags, o.status, o.email_key, o.verification) IS DISTINCT FROM (n.fields, n.tags, n.status, n.email_key, n.verification)
              ELSE EXISTS (SELECT 1 FROM unnest(t.fields) AS f (tag) WHERE o.fields ->> f.tag IS DISTINCT FROM n.fields ->> f.tag) END;
  RETURN NULL;
END $$;
