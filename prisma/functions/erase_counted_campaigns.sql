-- Deleted at once with its campaign; the blocks are erased later with all other rows of the campaign (0031).
CREATE OR REPLACE FUNCTION hot.erase_counted_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.counted_campaign k USING deleted d WHERE k.customer_id = d.customer_id AND k.campaign_id = d.id;
  RETURN NULL;
END $$;
