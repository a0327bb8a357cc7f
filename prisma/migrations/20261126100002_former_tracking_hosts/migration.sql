-- Names that were tracking hosts of customers. Their DNS may lead here for years, and mails that carry them for longer:
-- they go on serving links and nothing else.
CREATE TABLE hot.former_tracking_host (
  host    text        PRIMARY KEY,
  left_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION hot.keep_tracking_host() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_tracking_host (host) VALUES (OLD.tracking_host) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_changed_tracking_host AFTER UPDATE OF tracking_host, tracking_url ON public.sending_domain
  FOR EACH ROW WHEN (OLD.tracking_url <> '' AND (NEW.tracking_url = '' OR NEW.tracking_host <> OLD.tracking_host))
  EXECUTE FUNCTION hot.keep_tracking_host();
CREATE TRIGGER keep_deleted_tracking_host AFTER DELETE ON public.sending_domain
  FOR EACH ROW WHEN (OLD.tracking_url <> '') EXECUTE FUNCTION hot.keep_tracking_host();
