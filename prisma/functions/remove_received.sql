-- When counters were corrected, the blocks made from them are no longer used.
CREATE OR REPLACE FUNCTION hot.remove_received() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.received_campaign WHERE customer_id = NEW.customer_id AND campaign_id = NEW.source_id;
  RETURN NULL;
END $$;
