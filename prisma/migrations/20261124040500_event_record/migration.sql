-- The event record: what happened, written in the transaction in which it happened, and who has read it up to where
-- (src/events).
CREATE SEQUENCE hot.event_id_seq;

-- The id of an event. The transaction first takes a lock that it shares with the others that write events: whoever reads events
-- tells by it which smaller ids may still appear (src/events/event-store.ts).
CREATE OR REPLACE FUNCTION hot.next_event_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared('hot.event_id_seq'::regclass::oid::int, 0);
  RETURN nextval('hot.event_id_seq');
END $$;

CREATE TABLE hot.event (
  id          bigint      PRIMARY KEY DEFAULT hot.next_event_id(),
  kind        text        NOT NULL,
  -- Null: of no customer.
  customer_id bigint,
  object_uid  text        NOT NULL,
  data        jsonb       NOT NULL DEFAULT '{}',
  happened_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE hot.event IS 'What happened: written in the transaction in which it happened, read by followers in the order of the ids. No personal data: readers load what they need.';
ALTER SEQUENCE hot.event_id_seq OWNED BY hot.event.id;

CREATE TABLE hot.event_follower (
  name          text        PRIMARY KEY,
  -- The product (mailwright) or a plugin.
  owner         text        NOT NULL,
  -- Id of the last event that was handled.
  position      bigint      NOT NULL,
  -- The process that reads for all, until its lease ends by the clock of the database.
  holder        uuid,
  lease_ends_at timestamptz,
  moved_at      timestamptz,
  -- Tries of the next events that failed.
  failures      integer     NOT NULL DEFAULT 0,
  last_error    text,
  -- It was too far behind and gets no events any more.
  cut_off_at    timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE hot.event_follower IS 'Readers of the event record, each with its own position. One process at a time holds a follower, by a lease.';

-- Wakes the followers of events when the transaction commits. PostgreSQL sends equal notifications of a transaction once.
CREATE OR REPLACE FUNCTION hot.announce_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM new_rows) THEN
    PERFORM pg_notify('events', '');
  END IF;
  RETURN NULL;
END $$;

-- Events of customers; kinds and data: src/events/event-kinds.ts. A customer being deleted is not found any more: that is when it
-- is gone for others, its row is erased later.
CREATE OR REPLACE FUNCTION hot.record_customer_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'customer_added', n.id, n.uid FROM new_rows n ORDER BY n.id;
  ELSE
    INSERT INTO hot.event (kind, customer_id, object_uid, data)
    SELECT CASE n.status WHEN 'deleting' THEN 'customer_deleted' ELSE 'customer_status_changed' END, n.id, n.uid,
           CASE n.status WHEN 'deleting' THEN '{}' ELSE jsonb_build_object('from', o.status, 'to', n.status) END
      FROM new_rows n JOIN old_rows o USING (id) WHERE n.status <> o.status ORDER BY n.id;
  END IF;
  RETURN NULL;
END $$;

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

-- Events of campaigns; kinds and data: src/events/event-kinds.ts. Whatever changes a status, each change is recorded.
CREATE OR REPLACE FUNCTION hot.record_campaign_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'campaign_created', n.customer_id, n.uid FROM new_rows n ORDER BY n.id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO hot.event (kind, customer_id, object_uid)
    SELECT 'campaign_deleted', o.customer_id, o.uid FROM old_rows o ORDER BY o.id;
  ELSE
    INSERT INTO hot.event (kind, customer_id, object_uid, data)
    SELECT 'campaign_status_changed', n.customer_id, n.uid,
           jsonb_build_object('from', o.status, 'to', n.status, 'reason', n.reason_code)
      FROM new_rows n JOIN old_rows o USING (customer_id, id) WHERE n.status <> o.status ORDER BY n.id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER events_announced AFTER INSERT ON hot.event
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.announce_events();

CREATE TRIGGER events_of_inserted AFTER INSERT ON customer
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_customer_events();

CREATE TRIGGER events_of_updated AFTER UPDATE ON customer
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_customer_events();

CREATE TRIGGER events_of_inserted AFTER INSERT ON plan
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_plan_events();

CREATE TRIGGER events_of_updated AFTER UPDATE ON plan
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_plan_events();

CREATE TRIGGER events_of_deleted AFTER DELETE ON plan
  REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_plan_events();

CREATE TRIGGER events_of_inserted AFTER INSERT ON mail_list
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_list_events();

CREATE TRIGGER events_of_updated AFTER UPDATE ON mail_list
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_list_events();

CREATE TRIGGER events_of_deleted AFTER DELETE ON mail_list
  REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_list_events();

CREATE TRIGGER events_of_inserted AFTER INSERT ON campaign
  REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_campaign_events();

CREATE TRIGGER events_of_updated AFTER UPDATE ON campaign
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_campaign_events();

CREATE TRIGGER events_of_deleted AFTER DELETE ON campaign
  REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.record_campaign_events();

-- The plugins' events. It exists before the first worker starts, so that it misses nothing.
INSERT INTO hot.event_follower (name, owner, position) VALUES ('hooks', 'mailwright', 0);
