-- The ways on which bounces and complaints reach the operator: webhooks of vendors, bounce mailboxes, the server for bounces. Only the
-- operator's own: nothing of a customer is here.
CREATE TABLE hot.report_source (
  kind          text        NOT NULL,
  -- Of the sending server or the bounce handler; empty: the server for bounces.
  uid           text        NOT NULL,
  -- Since when it is watched.
  since         timestamptz NOT NULL DEFAULT now(),
  -- Null: nothing has come yet.
  reported_at   timestamptz,
  complained_at timestamptz,
  -- The messages that were sent until the last report, or until `since`, of those that it may report on (hot.sending_total).
  sent          bigint      NOT NULL,
  PRIMARY KEY (kind, uid),
  CONSTRAINT report_source_kind_check CHECK (kind IN ('webhook', 'mailbox', 'bounce_server'))
);
COMMENT ON TABLE hot.report_source IS 'When bounces and complaints came for the last time, by the way on which they reach the operator, for the checks of the installation.';
