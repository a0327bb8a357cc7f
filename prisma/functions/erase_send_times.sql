CREATE OR REPLACE FUNCTION hot.erase_send_times() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.campaign_send_time w USING deleted d WHERE w.customer_id = d.customer_id AND w.campaign_id = d.id;
  RETURN NULL;
END $$;
