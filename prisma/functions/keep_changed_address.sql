CREATE OR REPLACE FUNCTION hot.keep_changed_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_address (customer_id, list_id, subscriber_id, address_hash)
  VALUES (OLD.customer_id, OLD.list_id, OLD.id, hashtextextended(OLD.email_key, 0)) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
