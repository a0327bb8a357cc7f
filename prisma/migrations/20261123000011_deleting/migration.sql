-- What has to be removed with a customer, a list or a campaign; partitions of the event tables.

-- Deleting a list or a campaign takes away at once what makes it one: its row, its counters, where its people are found by
-- page or id. What it has gathered (people, ledger, events) is erased by a job in slices (decision record 0031): the row
-- here says that there is something to erase. However a list or a campaign comes to be deleted, these triggers write it.
CREATE TABLE hot.deletion (
  customer_id  bigint      NOT NULL,
  id           bigint      GENERATED ALWAYS AS IDENTITY,
  -- Otherwise a campaign.
  is_list      boolean     NOT NULL,
  target_id    bigint      NOT NULL,
  uid          text        NOT NULL,
  name         text        NOT NULL,
  -- People of a list, recipients of a campaign: so many there were, so many are erased.
  total        bigint      NOT NULL,
  erased       bigint      NOT NULL DEFAULT 0,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- A deletion whose erasing failed is not tried again before this time, so that it does not hold up the later ones.
  next_try_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, id)
);

CREATE OR REPLACE FUNCTION hot.erase_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.deletion (customer_id, is_list, target_id, uid, name, total)
  SELECT d.customer_id, false, d.id, d.uid, d.name, coalesce(c.audience, 0)
    FROM deleted d LEFT JOIN hot.delivery_counter c ON c.customer_id = d.customer_id AND c.source_kind = 1 AND c.source_id = d.id
   -- A campaign that was never started has no rows.
   WHERE d.snapshot_on IS NOT NULL;
  DELETE FROM hot.delivery_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.source_kind = 1 AND c.source_id = d.id;
  DELETE FROM hot.tracking_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.source_kind = 1 AND c.source_id = d.id;
  DELETE FROM hot.link_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.source_kind = 1 AND c.source_id = d.id;
  DELETE FROM hot.campaign_progress c USING deleted d WHERE c.customer_id = d.customer_id AND c.campaign_id = d.id;
  RETURN NULL;
END $$;

-- Makes the partitions for these days. Pages of the ledger are filled to 36 %: at 45 % one of seven updates still went to
-- another page and into the index, at 36 % none does.
CREATE OR REPLACE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE WHEN parent = 'delivery' THEN ' WITH (fillfactor = 36)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

CREATE TRIGGER erase_campaigns AFTER DELETE ON campaign
  REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.erase_campaigns();
