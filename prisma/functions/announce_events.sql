-- Wakes the followers of events when the transaction commits. PostgreSQL sends equal notifications of a transaction once.
CREATE OR REPLACE FUNCTION hot.announce_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM new_rows) THEN
    PERFORM pg_notify('events', '');
  END IF;
  RETURN NULL;
END $$;
