-- The id of an event. The transaction gets its own number first: whoever reads events tells by it which smaller ids may still
-- appear (src/events/follower-store.ts).
CREATE OR REPLACE FUNCTION hot.next_event_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_current_xact_id();
  RETURN nextval('hot.event_id_seq');
END $$;
