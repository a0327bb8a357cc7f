ALTER TABLE mail_list_import ADD COLUMN "run_automations" BOOLEAN NOT NULL DEFAULT false;

-- What happened to people: written in the transaction in which it happened, in the order of the ids, kept as long as other events.
CREATE SEQUENCE hot.person_event_id_seq;

-- The id of what happened to a person, with a lock that all writers share until they commit: see hot.next_event_id.
CREATE OR REPLACE FUNCTION hot.next_person_event_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared('hot.person_event_id_seq'::regclass::oid::int, 0);
  RETURN nextval('hot.person_event_id_seq');
END $$;

CREATE TABLE hot.person_event (
  customer_id  bigint      NOT NULL,
  list_id      bigint      NOT NULL,
  person_id    bigint      NOT NULL,
  id           bigint      NOT NULL DEFAULT hot.next_person_event_id(),
  -- When it happened; of an event from outside, what its sender said.
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  recorded_on  date        NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date,
  -- By src/events/person-event.ts.
  kind         smallint    NOT NULL,
  -- Flows that started one another before (D83).
  depth        smallint    NOT NULL DEFAULT 0,
  -- Imports start no flows unless asked (D72).
  starts_flows boolean     NOT NULL DEFAULT true,
  -- Of an event from outside.
  name         text,
  -- Names of fields, tags; of an event from outside its payload.
  data         jsonb
) PARTITION BY RANGE (recorded_on);
ALTER SEQUENCE hot.person_event_id_seq OWNED BY hot.person_event.id;
-- For those who read on from an id: all of a list in their order.
CREATE INDEX person_event_of_list ON hot.person_event (customer_id, list_id, id);
-- For one person, the newest first.
CREATE INDEX person_event_of_person ON hot.person_event (customer_id, person_id, at, id);
-- Who did something, how often, since when.
CREATE INDEX person_event_by_name ON hot.person_event (customer_id, list_id, name, at) WHERE name IS NOT NULL;

-- Makes the partitions for these days. Pages of the ledger are filled to 36 %: at 45 % one of seven updates still went to
-- another page and into the index, at 36 % none does.
CREATE OR REPLACE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event', 'flow_step', 'person_event'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE parent WHEN 'delivery' THEN ' WITH (fillfactor = 36)'
                      -- Payloads of events lie apart from the rows.
                      WHEN 'person_event' THEN ' WITH (toast_tuple_target = 256)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

SELECT hot.ensure_partitions((now() - interval '1 month')::date, (now() + interval '2 months')::date);

-- What happened to people of lists, by rows of `subscriber`; numbers and data: src/events/person-event.ts. Settings of the transaction say
-- whether it may start flows (`mailwright.run_automations` is `off`), how deep flows have started one another
-- (`mailwright.flow_depths`: depths by person), and that nothing is recorded (`mailwright.person_events` is `off`).
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
      FROM (SELECT n.customer_id, n.list_id, n.id, n.status, n.tags, n.fields, o.status AS old_status, o.tags AS old_tags,
                   o.fields AS old_fields, o.email_key <> n.email_key AS has_new_address
              FROM old_rows o JOIN new_rows n USING (customer_id, list_id, id)
             WHERE o.status <> n.status OR o.tags IS DISTINCT FROM n.tags OR o.fields <> n.fields OR o.email_key <> n.email_key) c
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
     ORDER BY c.customer_id, c.list_id, c.id, k.kind;
  END IF;
  GET DIAGNOSTICS recorded = ROW_COUNT;
  IF recorded > 0 THEN
    PERFORM pg_notify('person_events', '');
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER record_inserted AFTER INSERT ON subscriber
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.record_person_events();

CREATE TRIGGER record_updated AFTER UPDATE ON subscriber
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.record_person_events();

CREATE TRIGGER record_deleted AFTER DELETE ON subscriber
  REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hot.record_person_events();
