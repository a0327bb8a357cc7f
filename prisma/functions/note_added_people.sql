-- People who came to lists with live triggers of flows that look at people: each of these triggers looks at them soon. For the
-- settings of the transaction see record_person_events.sql.
CREATE OR REPLACE FUNCTION hot.note_added_people() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  enters boolean := coalesce(current_setting('mailwright.run_automations', true), '') <> 'off';
  depths jsonb   := nullif(current_setting('mailwright.flow_depths', true), '')::jsonb;
BEGIN
  INSERT INTO hot.flow_changed (customer_id, trigger_id, person_id, enters, depth)
  SELECT n.customer_id, t.id, n.id, enters, coalesce((depths ->> n.id::text)::smallint, 0)
    FROM hot.flow_trigger t JOIN inserted n ON n.customer_id = t.customer_id AND n.list_id = t.list_id
   WHERE t.state = 'live';
  RETURN NULL;
END $$;
