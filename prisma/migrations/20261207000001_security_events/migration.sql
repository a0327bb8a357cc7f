-- What concerns who gets in is in the audit trail, failures included: with the kind of the caller's program, and with
-- the code of the error for what did not go well.
ALTER TABLE hot.audit_event ADD COLUMN client text, ADD COLUMN failure text;

-- Failures are made by strangers: how many there are of a user lately is asked before another one is written.
CREATE INDEX audit_event_failures ON hot.audit_event (customer_id, user_uid, at) WHERE failure IS NOT NULL;
