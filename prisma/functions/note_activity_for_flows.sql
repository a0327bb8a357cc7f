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
