-- Deleted with their list, like everything that is kept of its people in blocks.
CREATE OR REPLACE FUNCTION hot.erase_list_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gone  record;
  child text;
BEGIN
  FOR gone IN SELECT customer_id, array_agg(id) AS ids FROM deleted GROUP BY customer_id LOOP
    FOREACH child IN ARRAY ARRAY['list_activity_block', 'tag_spelling'] LOOP
      EXECUTE format('DELETE FROM hot.%I WHERE customer_id = $1 AND list_id = ANY ($2)', child) USING gone.customer_id, gone.ids;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;
