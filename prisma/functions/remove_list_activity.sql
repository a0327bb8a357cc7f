CREATE OR REPLACE FUNCTION hot.remove_list_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.list_activity_block b SET opened = b.opened & ~d.gone, clicked = b.clicked & ~d.gone
    FROM (SELECT customer_id, list_id, subscriber_id >> 11 AS block, bit_or(hot.person_bit(subscriber_id)) AS gone
            FROM deleted GROUP BY 1, 2, 3) d
   WHERE b.customer_id = d.customer_id AND b.list_id = d.list_id AND b.block = d.block;
  DELETE FROM hot.list_activity_block b
   USING (SELECT DISTINCT customer_id, list_id, subscriber_id >> 11 AS block FROM deleted) d
   WHERE b.customer_id = d.customer_id AND b.list_id = d.list_id AND b.block = d.block AND b.opened | b.clicked = 0::bit(2048);
  RETURN NULL;
END $$;
