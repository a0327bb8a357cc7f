-- A link that logs in hands over what its maker may do, and no more.
ALTER TABLE "login_token" ADD COLUMN "scopes" TEXT[] NOT NULL DEFAULT '{}';
ALTER TABLE "login_token" ALTER COLUMN "scopes" DROP DEFAULT;
CREATE INDEX "login_token_customer_id_user_id_idx" ON "login_token"("customer_id", "user_id");
CREATE INDEX "login_token_expires_at_idx" ON "login_token"("expires_at");

-- Who did what, when, from where. Rows are written once; no reason is known to change one, so nothing can.
CREATE TABLE hot.audit_event (
  customer_id       bigint      NOT NULL,
  id                bigint      GENERATED ALWAYS AS IDENTITY,
  at                timestamptz NOT NULL DEFAULT now(),
  -- Null: nobody was logged in.
  actor_customer_id bigint,
  user_uid          text,
  token_uid         text,
  token_kind        text,
  operation         text        NOT NULL,
  target_uid        text,
  -- Names of what was given, never what it was.
  fields            text[]      NOT NULL DEFAULT '{}',
  door              text        NOT NULL,
  ip_address        text,
  PRIMARY KEY (customer_id, id)
);
-- Administrators read all customers' rows, the newest first; the oldest are dropped first.
CREATE UNIQUE INDEX audit_event_by_id ON hot.audit_event (id);

CREATE FUNCTION hot.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'An audit event is never changed.';
END $$;

CREATE TRIGGER audit_event_stays BEFORE UPDATE ON hot.audit_event
  FOR EACH STATEMENT EXECUTE FUNCTION hot.refuse_audit_change();
