-- Triggers of published flows that look at people by themselves: dates, timetables, segments. One row for each, whatever the version
-- of the flow, as long as the trigger means the same.
CREATE TABLE hot.flow_trigger (
  customer_id    bigint      NOT NULL,
  automation_id  bigint      NOT NULL,
  list_id        bigint      NOT NULL,
  id             bigint      GENERATED ALWAYS AS IDENTITY,
  -- What it says, without its `if`.
  key            text        NOT NULL,
  -- `live`; `idle`: the automation is not active; `removed`: no published version has it, its rows are being deleted.
  state          text        NOT NULL,
  -- It fires only for what comes after that.
  started_at     timestamptz NOT NULL,
  segment_id     bigint,
  -- It looks at a person who changed in one of these; null: in anything.
  fields         text[],
  -- All people are being looked at: up to this id they were. Null: all were.
  walk_after     bigint,
  -- For dates that come after that.
  walk_from      timestamptz NOT NULL,
  -- Those who have come into the segment, or left it, enter; else they are remembered only.
  walk_enters    boolean     NOT NULL DEFAULT false,
  -- When the last look at all people began.
  walked_at      timestamptz NOT NULL,
  -- What the people were looked at with: the time zones of the list, or the rule of the segment.
  seen_with      text,
  -- Not before that: it failed.
  retry_at       timestamptz,
  PRIMARY KEY (customer_id, automation_id, id)
);
CREATE UNIQUE INDEX flow_trigger_key ON hot.flow_trigger (customer_id, automation_id, key);
CREATE INDEX flow_trigger_of_list ON hot.flow_trigger (customer_id, list_id);

-- What a trigger knows of a person: the next time of a date or timetable, or that the person is in the segment.
CREATE TABLE hot.flow_trigger_person (
  customer_id bigint NOT NULL,
  trigger_id  bigint NOT NULL,
  person_id   bigint NOT NULL,
  due_at      timestamptz,
  -- The day of that time, as the person's clock shows it.
  due_on      date,
  -- The last day that fired: no day fires twice, whatever zone the person is in then.
  fired_on    date,
  PRIMARY KEY (customer_id, trigger_id, person_id)
) WITH (fillfactor = 80);
CREATE INDEX flow_trigger_person_due ON hot.flow_trigger_person (customer_id, trigger_id, due_at, person_id) WHERE due_at IS NOT NULL;

-- People at whom a trigger has to look, because they came or changed.
CREATE TABLE hot.flow_changed (
  customer_id bigint      NOT NULL,
  trigger_id  bigint      NOT NULL,
  person_id   bigint      NOT NULL,
  id          bigint      GENERATED ALWAYS AS IDENTITY,
  changed_at  timestamptz NOT NULL DEFAULT now(),
  -- Not by an import that starts no flows (D72): what changes by it is remembered, and nobody enters.
  enters      boolean     NOT NULL DEFAULT true,
  -- Flows that started one another (D83).
  depth       smallint    NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, trigger_id, id)
);

-- What came of a day of a trigger.
CREATE TABLE hot.flow_slot (
  customer_id   bigint  NOT NULL,
  automation_id bigint  NOT NULL,
  trigger_id    bigint  NOT NULL,
  day           date    NOT NULL,
  entered       integer NOT NULL DEFAULT 0,
  -- By the rules of entry (D70).
  refused       integer NOT NULL DEFAULT 0,
  -- By the `if` of the trigger.
  not_matching  integer NOT NULL DEFAULT 0,
  -- More than a day late: skipped (D76).
  late          integer NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, trigger_id, day)
);

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

CREATE TRIGGER note_added_people AFTER INSERT ON subscriber REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT
  EXECUTE FUNCTION hot.note_added_people();
CREATE TRIGGER note_changed_people AFTER UPDATE ON subscriber REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT
  EXECUTE FUNCTION hot.note_changed_people();
