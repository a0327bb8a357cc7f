-- Mails to addresses that nobody but a customer has named: what counts against its limits must not go with the rows that it may delete.
CREATE TABLE hot.asked_mail (
  customer_id bigint      NOT NULL,
  kind        text        NOT NULL,
  -- A keyed digest: whose address it was cannot be read from it.
  address_key bytea       NOT NULL,
  at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX asked_mail_customer_idx ON hot.asked_mail (customer_id, kind, at);
CREATE INDEX asked_mail_address_idx ON hot.asked_mail (address_key, at);
-- What was asked for within the hour before the upgrade counts, too.
INSERT INTO hot.asked_mail (customer_id, kind, address_key, at)
SELECT customer_id, 'test', '', created_at FROM test_message WHERE created_at > now() - interval '1 hour';
