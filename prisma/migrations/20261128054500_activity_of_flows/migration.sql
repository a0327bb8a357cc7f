-- Opens and clicks begin flows, end waits, and are goals and exits.
ALTER TABLE hot.flow_follower
  -- Of its own mails.
  ADD COLUMN reads_mails boolean NOT NULL DEFAULT false,
  -- Of these campaigns, by their uids; empty: of all campaigns to its list; null: of none.
  ADD COLUMN reads_campaigns text[];
CREATE INDEX flow_follower_of_activity ON hot.flow_follower (customer_id) WHERE reads_mails OR reads_campaigns IS NOT NULL;

-- Opens and clicks that a flow has to look at: taken out with what they do to its people.
CREATE TABLE hot.flow_activity (
  customer_id   bigint      NOT NULL,
  automation_id bigint      NOT NULL,
  id            bigint      GENERATED ALWAYS AS IDENTITY,
  source_id     bigint      NOT NULL,
  person_id     bigint      NOT NULL,
  -- The row of hot.open_event or hot.click_event, which has the rest.
  event_id      bigint      NOT NULL,
  at            timestamptz NOT NULL,
  due_at        timestamptz NOT NULL,
  source_kind   smallint    NOT NULL,
  is_click      boolean     NOT NULL,
  PRIMARY KEY (customer_id, automation_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX flow_activity_due ON hot.flow_activity (due_at);

-- Opens and clicks that an active flow asks for: of its own mails, or of campaigns to its list. They wait some seconds: until then clicks
-- that follow each other may turn out to be a machine's. A flow that an outage stopped gets them when it goes on.
CREATE OR REPLACE FUNCTION hot.note_activity_for_flows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM hot.flow_follower f WHERE (f.reads_mails OR f.reads_campaigns IS NOT NULL)
                    AND f.customer_id IN (SELECT n.customer_id FROM new_rows n)) THEN
    RETURN NULL;
  END IF;
  -- OFFSET 0 keeps each a look-up by key for each row, whatever the plan was made for.
  INSERT INTO hot.flow_activity (customer_id, automation_id, is_click, source_kind, source_id, person_id, event_id, at, due_at)
  SELECT n.customer_id, f.automation_id, TG_ARGV[0] = 'click', n.source_kind, n.source_id, n.recipient_id, n.id, n.at, now() + interval '5 seconds'
    FROM new_rows n
   CROSS JOIN LATERAL (
     SELECT f.automation_id FROM hot.flow_follower f
       JOIN public.automation a ON a.customer_id = f.customer_id AND a.id = f.automation_id
      WHERE n.source_kind = 2 AND f.customer_id = n.customer_id AND f.automation_id = n.source_id AND f.reads_mails
        AND (a.status = 'active' OR f.retry_at = 'infinity')
     UNION ALL
     SELECT f.automation_id FROM public.campaign c
       JOIN public.automation a ON a.customer_id = c.customer_id AND a.list_id = c.list_id
       JOIN hot.flow_follower f ON f.customer_id = a.customer_id AND f.automation_id = a.id
      WHERE n.source_kind = 1 AND c.customer_id = n.customer_id AND c.id = n.source_id
        AND (f.reads_campaigns = '{}' OR c.uid = ANY (f.reads_campaigns)) AND (a.status = 'active' OR f.retry_at = 'infinity') OFFSET 0) f
   ORDER BY n.id, f.automation_id;
  RETURN NULL;
END $$;

CREATE TRIGGER note_for_flows AFTER INSERT ON hot.open_event REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.note_activity_for_flows('open');
CREATE TRIGGER note_for_flows AFTER INSERT ON hot.click_event REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.note_activity_for_flows('click');
