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

CREATE TRIGGER campaign_made_or_deleted AFTER INSERT OR DELETE ON campaign
  FOR EACH ROW
  EXECUTE FUNCTION hot.announce_changed_campaign();

-- Not for the progress of the audience snapshot: figures are announced by the processes that change them.
CREATE TRIGGER campaign_changed AFTER UPDATE ON campaign
  FOR EACH ROW
  WHEN ((OLD.name, OLD.status, OLD.updated_at) IS DISTINCT FROM (NEW.name, NEW.status, NEW.updated_at)
        OR OLD.wait_kind IS DISTINCT FROM NEW.wait_kind OR OLD.wait_until IS DISTINCT FROM NEW.wait_until
        OR OLD.reason_code IS DISTINCT FROM NEW.reason_code OR OLD.delivery_at IS DISTINCT FROM NEW.delivery_at)
  EXECUTE FUNCTION hot.announce_changed_campaign();
