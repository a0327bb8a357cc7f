CREATE OR REPLACE FUNCTION hot.keep_tracking_host() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_tracking_host (host) VALUES (OLD.tracking_host) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
