-- Deleted together with their campaign.
CREATE OR REPLACE FUNCTION hot.erase_campaign_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gone  record;
  child text;
BEGIN
  FOR gone IN SELECT customer_id, array_agg(id) AS ids FROM deleted GROUP BY customer_id LOOP
    FOREACH child IN ARRAY ARRAY['campaign_activity_block', 'received_block', 'received_campaign'] LOOP
      EXECUTE format('DELETE FROM hot.%I WHERE customer_id = $1 AND campaign_id = ANY ($2)', child) USING gone.customer_id, gone.ids;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;
