-- The id of an event. The transaction first takes a lock that it shares with the others that write events: whoever reads events
-- tells by it which smaller ids may still appear (src/events/event-store.ts).
CREATE OR REPLACE FUNCTION hot.next_event_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared('hot.event_id_seq'::regclass::oid::int, 0);
  RETURN nextval('hot.event_id_seq');
END $$;
