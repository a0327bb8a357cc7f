-- The addresses of people who are deleted, by digest, where a ledger still has them: of a list, or of a deleted list whose reports
-- stay (decision D57). So a person who is no longer there can be exported and erased.
CREATE OR REPLACE FUNCTION hot.keep_deleted_addresses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.former_address (customer_id, list_id, subscriber_id, address_hash)
  SELECT d.customer_id, d.list_id, d.id, hashtextextended(d.email_key, 0) FROM deleted d
   WHERE EXISTS (SELECT 1 FROM public.mail_list l WHERE l.customer_id = d.customer_id AND l.id = d.list_id OFFSET 0)
      OR EXISTS (SELECT 1 FROM public.campaign c WHERE c.customer_id = d.customer_id AND c.list_id = d.list_id AND c.snapshot_on IS NOT NULL OFFSET 0)
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
