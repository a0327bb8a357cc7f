-- The id of what happened to a person, with a lock that all writers share until they commit: see hot.next_event_id.
CREATE OR REPLACE FUNCTION hot.next_person_event_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared('hot.person_event_id_seq'::regclass::oid::int, 0);
  RETURN nextval('hot.person_event_id_seq');
END $$;
