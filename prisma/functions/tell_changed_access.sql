-- What a token may do has changed: every process drops the tokens it remembers (src/domain/accounts/token-cache.ts).
CREATE OR REPLACE FUNCTION hot.tell_changed_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('changed_access', '');
  RETURN NULL;
END $$;
