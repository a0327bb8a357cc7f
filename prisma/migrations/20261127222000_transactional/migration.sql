-- Transactional mail (decision D94): what its log is searched by, and its files.

CREATE TABLE hot.transactional_mail (
  customer_id  bigint NOT NULL,
  message_id   bigint NOT NULL,
  -- That of hot.message, so that whoever erases a person finds it.
  recipient_id bigint NOT NULL,
  external_id  text,
  tags         text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (customer_id, message_id)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);
CREATE INDEX transactional_mail_by_external_id ON hot.transactional_mail (customer_id, external_id, message_id) WHERE external_id IS NOT NULL;
CREATE INDEX transactional_mail_by_tag ON hot.transactional_mail USING gin (tags) WHERE tags <> '{}';

-- Files of messages that are not of a campaign: an uploaded file, or the bytes themselves. Erased with the message's content.
CREATE TABLE hot.message_file (
  customer_id  bigint   NOT NULL,
  message_id   bigint   NOT NULL,
  no           smallint NOT NULL,
  recipient_id bigint   NOT NULL,
  -- An uploaded file; null: `bytes`.
  file_id      bigint,
  name         text     NOT NULL,
  type         text     NOT NULL,
  bytes        bytea,
  PRIMARY KEY (customer_id, message_id, no)
);
-- They are compressed already, or are encoded right after they were read.
ALTER TABLE hot.message_file ALTER COLUMN bytes SET STORAGE EXTERNAL;
