-- When a list is deleted its ledgers are deleted too: then its people need not be found.
CREATE OR REPLACE FUNCTION hot.keep_deleted_addresses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_address (customer_id, list_id, subscriber_id, address_hash)
  SELECT d.customer_id, d.list_id, d.id, hashtextextended(d.email_key, 0) FROM deleted d
   WHERE EXISTS (SELECT 1 FROM public.mail_list l WHERE l.customer_id = d.customer_id AND l.id = d.list_id OFFSET 0)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
