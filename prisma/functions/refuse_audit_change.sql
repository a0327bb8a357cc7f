CREATE OR REPLACE FUNCTION hot.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'An audit event is never changed.';
END $$;
