-- With its campaign this goes at once; the blocks are erased with all else that the campaign has gathered (0031).
CREATE OR REPLACE FUNCTION hot.erase_counted_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.counted_campaign k USING deleted d WHERE k.customer_id = d.customer_id AND k.campaign_id = d.id;
  RETURN NULL;
END $$;
