-- What a field may hold, and fields that were removed.

ALTER TABLE list_field ADD COLUMN options text[] DEFAULT ARRAY[]::text[];

-- A field was removed, and a job removes people's values of it.
CREATE TABLE field_removal (
  customer_id bigint         NOT NULL,
  list_id     bigint         NOT NULL,
  tag         text           NOT NULL,
  done_id     bigint         NOT NULL DEFAULT 0,
  created_at  timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT field_removal_pkey PRIMARY KEY (customer_id, list_id, tag),
  CONSTRAINT field_removal_customer_id_list_id_fkey FOREIGN KEY (customer_id, list_id) REFERENCES mail_list(customer_id, id) ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE INDEX list_field_uid_idx ON list_field(uid);
