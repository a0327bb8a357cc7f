-- What happened to people of lists, by rows of `subscriber`; numbers and data: src/events/person-event.ts. Settings of the transaction say
-- whether it may start flows (`mailwright.run_automations` is `off`), how deep flows have started one another
-- (`mailwright.flow_depths`: depths by person), and that nothing is recorded (`mailwright.person_events` is `off`).
-- The plan of a statement is kept with the number of changed rows that a connection had first: by a plan for one row, 20,000 changed people
-- would be compared with each other. A FULL JOIN is never done that way; `OFFSET 0` keeps conditions out that would make it an inner one.
CREATE OR REPLACE FUNCTION hot.record_person_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  starts   boolean     := coalesce(current_setting('mailwright.run_automations', true), '') <> 'off';
  depths   jsonb       := nullif(current_setting('mailwright.flow_depths', true), '')::jsonb;
  happened timestamptz := clock_timestamp();
  recorded bigint;
BEGIN
  IF current_setting('mailwright.person_events', true) = 'off' THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.person_event (customer_id, list_id, person_id, at, recorded_at, kind, starts_flows, depth, data)
    SELECT n.customer_id, n.list_id, n.id, happened, happened, 1, starts, coalesce((depths ->> n.id::text)::smallint, 0),
           nullif(CASE WHEN n.status = 'subscribed' THEN '{}' ELSE jsonb_build_object('status', n.status) END
                  || CASE WHEN cardinality(n.tags) > 0 THEN jsonb_build_object('tags', n.tags) ELSE '{}' END, '{}')
      FROM new_rows n ORDER BY n.customer_id, n.list_id, n.id;
  ELSIF TG_OP = 'DELETE' THEN
    -- Who goes with the list or with the customer is not worth a row.
    INSERT INTO hot.person_event (customer_id, list_id, person_id, at, recorded_at, kind, starts_flows)
    SELECT o.customer_id, o.list_id, o.id, happened, happened, 8, starts
      FROM old_rows o
      JOIN (SELECT l.customer_id, l.id FROM mail_list l JOIN customer c ON c.id = l.customer_id AND c.status <> 'deleting'
             WHERE (l.customer_id, l.id) IN (SELECT DISTINCT customer_id, list_id FROM old_rows) OFFSET 0) l
        ON l.customer_id = o.customer_id AND l.id = o.list_id
     ORDER BY o.customer_id, o.list_id, o.id;
  ELSE
    INSERT INTO hot.person_event (customer_id, list_id, person_id, at, recorded_at, kind, starts_flows, depth, data)
    SELECT c.customer_id, c.list_id, c.id, happened, happened, k.kind, starts, coalesce((depths ->> c.id::text)::smallint, 0), k.data
      FROM (SELECT customer_id, list_id, id, n.status, n.tags, n.fields, o.status AS old_status, o.tags AS old_tags,
                   o.fields AS old_fields, o.email_key <> n.email_key AS has_new_address
              FROM old_rows o FULL JOIN new_rows n USING (customer_id, list_id, id)
             WHERE (o.status, o.tags, o.fields, o.email_key) IS DISTINCT FROM (n.status, n.tags, n.fields, n.email_key) OFFSET 0) c
     CROSS JOIN LATERAL (
        SELECT CASE WHEN c.status = 'unsubscribed' THEN 7
                    WHEN c.status = 'subscribed' THEN CASE c.old_status WHEN 'unsubscribed' THEN 12 ELSE 2 END END AS kind, NULL::jsonb AS data
         WHERE c.status <> c.old_status AND c.status IN ('subscribed', 'unsubscribed')
        UNION ALL
        SELECT 3, jsonb_build_object('fields', jsonb_agg(f.tag ORDER BY f.tag))
          FROM (SELECT coalesce(o.key, n.key) AS tag FROM jsonb_each_text(c.old_fields) o FULL JOIN jsonb_each_text(c.fields) n USING (key)
                 WHERE coalesce(o.value, '') <> coalesce(n.value, '')
                UNION ALL SELECT 'EMAIL' WHERE c.has_new_address) f
        HAVING count(*) > 0
        UNION ALL
        SELECT 4, jsonb_build_object('tags', jsonb_agg(t.tag))
          FROM unnest(c.tags) AS t (tag) WHERE c.tags IS DISTINCT FROM c.old_tags AND NOT EXISTS (SELECT FROM unnest(c.old_tags) AS o (tag) WHERE hot.fold(o.tag) = hot.fold(t.tag))
        HAVING count(*) > 0
        UNION ALL
        SELECT 5, jsonb_build_object('tags', jsonb_agg(o.tag))
          FROM unnest(c.old_tags) AS o (tag) WHERE c.tags IS DISTINCT FROM c.old_tags AND NOT EXISTS (SELECT FROM unnest(c.tags) AS t (tag) WHERE hot.fold(o.tag) = hot.fold(t.tag))
        HAVING count(*) > 0) k
     WHERE c.status IS NOT NULL AND c.old_status IS NOT NULL
     ORDER BY c.customer_id, c.list_id, c.id, k.kind;
  END IF;
  GET DIAGNOSTICS recorded = ROW_COUNT;
  IF recorded > 0 THEN
    PERFORM pg_notify('person_events', '');
  END IF;
  RETURN NULL;
END $$;
