-- A campaign was made, changed or deleted: watchers in any process read it again (src/domain/campaigns/campaign-changes.ts).
CREATE OR REPLACE FUNCTION hot.announce_changed_campaign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM pg_notify('campaign_changed', OLD.customer_id || ':' || OLD.id || ':' || OLD.uid);
  ELSE
    PERFORM pg_notify('campaign_changed', NEW.customer_id || ':' || NEW.id || ':' || NEW.uid);
  END IF;
  RETURN NULL;
END $$;
