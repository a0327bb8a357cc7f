CREATE OR REPLACE FUNCTION hot.erase_unsubscribe_notices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.unsubscribe_notice n USING deleted d WHERE n.customer_id = d.customer_id AND n.list_id = d.id;
  RETURN NULL;
END $$;
