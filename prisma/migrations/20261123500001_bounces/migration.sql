-- Bounces and complaints: how patient a customer is with soft bounces, the mailboxes they come to, what vendors told.

CREATE TABLE "bounce_policy" (
    "customer_id" BIGINT NOT NULL,
    "soft_bounce_limit" INTEGER,
    "soft_bounce_days" INTEGER,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "bounce_policy_pkey" PRIMARY KEY ("customer_id")
);

CREATE TABLE "bounce_handler" (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "protocol" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "encryption" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "sealed_password" BYTEA NOT NULL,
    "folder" TEXT NOT NULL DEFAULT 'INBOX',
    "keeps_reports" BOOLEAN NOT NULL DEFAULT false,
    "is_system" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL DEFAULT 'active',
    "polled_at" TIMESTAMPTZ(3),
    "next_poll_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "held_until" TIMESTAMPTZ(3),
    "last_error" TEXT,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "bounce_count" BIGINT NOT NULL DEFAULT 0,
    "complaint_count" BIGINT NOT NULL DEFAULT 0,
    "other_count" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "bounce_handler_pkey" PRIMARY KEY ("customer_id","id")
);
CREATE INDEX "bounce_handler_uid_idx" ON "bounce_handler"("uid");
CREATE UNIQUE INDEX "bounce_handler_customer_id_uid_key" ON "bounce_handler"("customer_id", "uid");

ALTER TABLE "bounce_policy" ADD CONSTRAINT "bounce_policy_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customer"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "bounce_handler" ADD CONSTRAINT "bounce_handler_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customer"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What is known of the messages that lie in a mailbox: one that was dealt with is not dealt with twice, one that made
-- the program fail is set aside after some tries. Rows go when the message has left the mailbox.
CREATE TABLE hot.bounce_message (
  customer_id bigint      NOT NULL,
  handler_id  bigint      NOT NULL,
  message_key bytea       NOT NULL,
  -- Null while it is being read.
  outcome     text,
  attempts    smallint    NOT NULL DEFAULT 1,
  at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, handler_id, message_key)
);

-- When somebody's mailbox did not take a message, as far back as the policy looks.
CREATE TABLE hot.soft_bounce (
  customer_id bigint        NOT NULL,
  email_key   text          NOT NULL,
  times       timestamptz[] NOT NULL,
  PRIMARY KEY (customer_id, email_key)
);

-- Events of vendors' webhooks that were taken in: a vendor repeats what it got no answer for.
CREATE TABLE hot.webhook_event (
  customer_id bigint      NOT NULL,
  server_id   bigint      NOT NULL,
  event_key   bytea       NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, server_id, event_key)
);
CREATE INDEX webhook_event_at ON hot.webhook_event (at);

-- Bounces of messages that the first server refused already: they count as bounces, and were never sent.
ALTER TABLE hot.tracking_counter ADD COLUMN refused_bounce_count integer NOT NULL DEFAULT 0;
