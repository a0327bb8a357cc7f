CREATE OR REPLACE FUNCTION hot.erase_servers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.sending_health h USING deleted d WHERE h.server_id = d.id;
  DELETE FROM hot.sending_connections c USING deleted d WHERE c.server_id = d.id;
  DELETE FROM hot.warm_up_day w USING deleted d WHERE w.server_id = d.id;
  RETURN NULL;
END $$;
