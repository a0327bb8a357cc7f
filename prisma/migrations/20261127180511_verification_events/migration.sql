-- Events of verifications; kinds and data: src/events/event-kinds.ts. Whatever changes a status, each change is recorded.
CREATE OR REPLACE FUNCTION hot.record_verification_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.event (kind, customer_id, object_uid, data)
  SELECT 'verification_status_changed', NEW.customer_id, NEW.uid,
         jsonb_build_object('from', OLD.status, 'to', NEW.status, 'listUid', l.uid, 'importUid', NEW.import_uid,
                            'deliverable', NEW.deliverable, 'undeliverable', NEW.undeliverable, 'risky', NEW.risky, 'unknown', NEW.unknown)
    FROM mail_list l WHERE l.customer_id = NEW.customer_id AND l.id = NEW.list_id;
  RETURN NULL;
END $$;

CREATE TRIGGER events_of_status AFTER UPDATE OF status ON verification
  FOR EACH ROW
  WHEN (old.status <> new.status)
  EXECUTE FUNCTION hot.record_verification_events();
