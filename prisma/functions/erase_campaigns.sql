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
