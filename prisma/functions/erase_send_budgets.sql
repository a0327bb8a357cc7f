-- Deletes the rows of a deleted customer.
CREATE OR REPLACE FUNCTION hot.erase_send_budgets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.send_slice s USING deleted d WHERE s.customer_id = d.id;
  DELETE FROM hot.send_budget b USING deleted d WHERE b.customer_id = d.id;
  RETURN NULL;
END $$;
