-- The rows of hot.recipient_activity, combined by block.
CREATE OR REPLACE FUNCTION hot.keep_campaign_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Blocks are read first, so that none is locked where nothing changes. Until this transaction ends no other one changes the bit
  -- of a person whose row was written here, so what is read about these people is right.
  INSERT INTO hot.campaign_activity_block AS k
         (customer_id, campaign_id, block, opened, clicked, human_opened, human_clicked, first_at, last_on)
  SELECT w.* FROM (
    SELECT customer_id, source_id AS campaign_id, recipient_id >> 9 AS block,
           coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE open_count > 0), 0::bit(512)) AS opened,
           coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE click_count > 0), 0::bit(512)) AS clicked,
           coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE human_opens > 0 OR (human_clicks > 0 AND open_count > 0)), 0::bit(512)) AS human_opened,
           coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE human_clicks > 0), 0::bit(512)) AS human_clicked,
           min(CASE WHEN last_click_at IS NULL AND (click_count > 0 OR last_open_at IS NULL) THEN '-infinity' ELSE least(last_open_at, last_click_at) END) AS first_at,
           coalesce(max((greatest(last_open_at, last_click_at) AT TIME ZONE 'UTC')::date), '-infinity') AS last_on
      FROM written WHERE source_kind = 1 AND (open_count > 0 OR click_count > 0 OR human_opens > 0 OR human_clicks > 0) GROUP BY 1, 2, 3) w
   WHERE NOT EXISTS (
     SELECT 1 FROM hot.campaign_activity_block b
      WHERE b.customer_id = w.customer_id AND b.campaign_id = w.campaign_id AND b.block = w.block
        AND b.opened | w.opened = b.opened AND b.clicked | w.clicked = b.clicked AND b.human_opened | w.human_opened = b.human_opened
        AND b.human_clicked | w.human_clicked = b.human_clicked AND b.first_at <= w.first_at AND b.last_on >= w.last_on)
   ORDER BY w.customer_id, w.campaign_id, w.block
  ON CONFLICT (customer_id, campaign_id, block) DO UPDATE SET
    opened = k.opened | excluded.opened, clicked = k.clicked | excluded.clicked, human_opened = k.human_opened | excluded.human_opened,
    human_clicked = k.human_clicked | excluded.human_clicked, first_at = least(k.first_at, excluded.first_at),
    last_on = greatest(k.last_on, excluded.last_on);
  -- Clicks that are later recognised as a machine's are removed.
  IF TG_OP = 'UPDATE' THEN
    UPDATE hot.campaign_activity_block k
       SET opened = k.opened & ~w.opened, clicked = k.clicked & ~w.clicked, human_opened = k.human_opened & ~w.human_opened,
           human_clicked = k.human_clicked & ~w.human_clicked
      FROM (SELECT customer_id, source_id AS campaign_id, recipient_id >> 9 AS block,
                   coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE open_count <= 0), 0::bit(512)) AS opened,
                   coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE click_count <= 0), 0::bit(512)) AS clicked,
                   coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE human_opens <= 0 AND (human_clicks <= 0 OR open_count <= 0)), 0::bit(512)) AS human_opened,
                   coalesce(bit_or(hot.person_bit_of_512(recipient_id)) FILTER (WHERE human_clicks <= 0), 0::bit(512)) AS human_clicked
              FROM written WHERE source_kind = 1 GROUP BY 1, 2, 3) w
     WHERE k.customer_id = w.customer_id AND k.campaign_id = w.campaign_id AND k.block = w.block
       AND (k.opened & w.opened) | (k.clicked & w.clicked) | (k.human_opened & w.human_opened) | (k.human_clicked & w.human_clicked) <> 0::bit(512);
  END IF;
  RETURN NULL;
END $$;
