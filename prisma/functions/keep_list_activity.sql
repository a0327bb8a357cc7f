CREATE OR REPLACE FUNCTION hot.keep_list_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.list_activity_block AS b (customer_id, list_id, block, opened, clicked)
  SELECT customer_id, list_id, subscriber_id >> 11,
         coalesce(bit_or(hot.person_bit(subscriber_id)) FILTER (WHERE opened_at IS NOT NULL), 0::bit(2048)),
         coalesce(bit_or(hot.person_bit(subscriber_id)) FILTER (WHERE clicked_at IS NOT NULL), 0::bit(2048))
    FROM written GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (customer_id, list_id, block) DO UPDATE SET opened = b.opened | excluded.opened, clicked = b.clicked | excluded.clicked
   WHERE b.opened | excluded.opened <> b.opened OR b.clicked | excluded.clicked <> b.clicked;
  RETURN NULL;
END $$;
