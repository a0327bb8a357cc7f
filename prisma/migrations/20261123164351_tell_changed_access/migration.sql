-- What a token may do has changed: every process drops the tokens it remembers (src/domain/accounts/token-cache.ts).
CREATE OR REPLACE FUNCTION hot.tell_changed_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('changed_access', '');
  RETURN NULL;
END $$;

-- A new token, a new customer or a note of a token's use changes nothing that is remembered.
CREATE TRIGGER token_changed AFTER UPDATE ON api_token
  FOR EACH ROW
  WHEN ((OLD.id, OLD.digest, OLD.kind, OLD.scopes, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.digest, NEW.kind, NEW.scopes, NEW.created_at)
        OR OLD.rest_dialect IS DISTINCT FROM NEW.rest_dialect OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at
        OR NEW.expires_at < OLD.expires_at OR (OLD.expires_at IS NULL AND NEW.expires_at IS NOT NULL))
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER token_deleted AFTER DELETE ON api_token
  FOR EACH ROW
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER user_changed AFTER UPDATE ON app_user
  FOR EACH ROW
  WHEN ((OLD.status, OLD.is_admin, OLD.password_hash) IS DISTINCT FROM (NEW.status, NEW.is_admin, NEW.password_hash))
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER user_deleted AFTER DELETE ON app_user
  FOR EACH ROW
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER customer_changed AFTER UPDATE ON customer
  FOR EACH ROW
  WHEN ((OLD.status, OLD.is_operator) IS DISTINCT FROM (NEW.status, NEW.is_operator))
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER customer_deleted AFTER DELETE ON customer
  FOR EACH ROW
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER subscription_made AFTER INSERT OR DELETE ON subscription
  FOR EACH ROW
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER subscription_changed AFTER UPDATE ON subscription
  FOR EACH ROW
  WHEN ((OLD.status, OLD.plan_id, OLD.options) IS DISTINCT FROM (NEW.status, NEW.plan_id, NEW.options)
        OR OLD.current_period_started_at IS DISTINCT FROM NEW.current_period_started_at)
  EXECUTE FUNCTION hot.tell_changed_access();

CREATE TRIGGER plan_changed AFTER UPDATE ON plan
  FOR EACH ROW
  WHEN (OLD.options IS DISTINCT FROM NEW.options)
  EXECUTE FUNCTION hot.tell_changed_access();
