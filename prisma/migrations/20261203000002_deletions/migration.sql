-- Deleting a list or a campaign takes away at once what makes it one: its row, its counters, where its people are found by
-- page or id. What it has gathered (people, ledger, events) is erased by a job in slices (decision record 0322): the row
-- here says that there is something to erase. However a list or a campaign comes to be deleted, these triggers write it.
CREATE TABLE hot.deletion (
  customer_id bigint      NOT NULL,
  id          bigint      GENERATED ALWAYS AS IDENTITY,
  -- Otherwise a campaign.
  is_list     boolean     NOT NULL,
  target_id   bigint      NOT NULL,
  uid         text        NOT NULL,
  name        text        NOT NULL,
  -- People of a list, recipients of a campaign: so many there were, so many are erased.
  total       bigint      NOT NULL,
  erased      bigint      NOT NULL DEFAULT 0,
  asked_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, id)
);

CREATE OR REPLACE FUNCTION hot.erase_lists() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.deletion (customer_id, is_list, target_id, uid, name, total)
  SELECT d.customer_id, true, d.id, d.uid, d.name, coalesce(c.subscribed + c.unsubscribed + c.unconfirmed + c.pending, 0)
    FROM deleted d LEFT JOIN hot.list_counter c ON c.customer_id = d.customer_id AND c.list_id = d.id;
  DELETE FROM hot.subscriber_block b USING deleted d WHERE b.customer_id = d.customer_id AND b.list_id = d.id;
  DELETE FROM hot.list_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION hot.erase_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.deletion (customer_id, is_list, target_id, uid, name, total)
  SELECT d.customer_id, false, d.id, d.uid, d.name, coalesce(c.audience, 0)
    FROM deleted d LEFT JOIN hot.delivery_counter c ON c.customer_id = d.customer_id AND c.campaign_id = d.id
   -- Of a campaign that was never started there is nothing.
   WHERE d.planned_on IS NOT NULL;
  DELETE FROM hot.delivery_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.campaign_id = d.id;
  DELETE FROM hot.tracking_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.campaign_id = d.id;
  DELETE FROM hot.link_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.campaign_id = d.id;
  DELETE FROM hot.campaign_watch c USING deleted d WHERE c.customer_id = d.customer_id AND c.campaign_id = d.id;
  RETURN NULL;
END $$;
