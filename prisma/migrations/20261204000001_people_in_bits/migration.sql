-- Who opened, clicked and received a campaign, as one bit a person: a row of 2,048 bits for each block of ids (the blocks
-- of hot.subscriber_block). A condition of a segment and a page of `open=no` read some hundred rows then, where they
-- read one row a person and grouped them (0331). Bits of people who are gone stay: ids are never used again.

-- The bit of one person in the row of its block.
CREATE FUNCTION hot.person_bit(id bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(2048), (id & 2047)::integer, 1) $$;

-- Bits of 64 people at their place in the row of their block: `no` is id >> 6, bit 63 of `word` the first of them.
CREATE FUNCTION hot.word_bits(no bigint, word bigint) RETURNS bit(2048) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT word::bit(64)::bit(2048) >> (64 * (no & 31))::integer $$;

-- Who has a bit in at least `wanted` of the rows. Counts for all people of a block at once, in binary: `counts` has one
-- row of bits for each digit, and begins so high that it overflows when the number is reached.
CREATE FUNCTION hot.bits_in_at_least(members bit[], wanted integer) RETURNS bit(2048)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  none    CONSTANT bit(2048) := 0::bit(2048);
  digits  integer := 0;
  counts  bit(2048)[];
  digit   bit(2048);
  carry   bit(2048);
  reached bit(2048) := none;
BEGIN
  IF wanted > cardinality(members) THEN RETURN none; END IF;
  WHILE (1 << digits) < wanted LOOP digits := digits + 1; END LOOP;
  FOR d IN 1..digits LOOP
    counts[d] := CASE WHEN ((1 << digits) - wanted) >> (d - 1) & 1 = 1 THEN ~none ELSE none END;
  END LOOP;
  FOREACH carry IN ARRAY members LOOP
    FOR d IN 1..digits LOOP
      digit := counts[d];
      counts[d] := digit # carry;
      carry := digit & carry;
    END LOOP;
    reached := reached | carry;
  END LOOP;
  RETURN reached;
END $$;

-- ------------------------------------------------------------------ who ever opened or clicked, of a list
-- The same as the rows of hot.subscriber_activity say.
CREATE TABLE hot.list_activity_block (
  customer_id bigint    NOT NULL,
  list_id     bigint    NOT NULL,
  block       bigint    NOT NULL,
  opened      bit(2048) NOT NULL DEFAULT 0::bit(2048),
  clicked     bit(2048) NOT NULL DEFAULT 0::bit(2048),
  PRIMARY KEY (customer_id, list_id, block)
) WITH (fillfactor = 50);

CREATE FUNCTION hot.keep_list_activity() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE FUNCTION hot.forget_list_activity() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER keep_inserted AFTER INSERT ON hot.subscriber_activity
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_list_activity();
CREATE TRIGGER keep_updated AFTER UPDATE ON hot.subscriber_activity
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_list_activity();
CREATE TRIGGER forget_deleted AFTER DELETE ON hot.subscriber_activity
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.forget_list_activity();

INSERT INTO hot.list_activity_block
SELECT customer_id, list_id, subscriber_id >> 11,
       coalesce(bit_or(hot.person_bit(subscriber_id)) FILTER (WHERE opened_at IS NOT NULL), 0::bit(2048)),
       coalesce(bit_or(hot.person_bit(subscriber_id)) FILTER (WHERE clicked_at IS NOT NULL), 0::bit(2048))
  FROM hot.subscriber_activity GROUP BY 1, 2, 3;

-- ------------------------------------------------------------------ what people did with a campaign
-- Whose counts in hot.recipient_activity are above zero. `human_opened` is what a rule means by opens of people: an
-- open, or a click that proves one. Of the times beside those counts: none is before first_at, none after the day last_on (UTC).
-- Blocks of 512 ids here: where the ids of a list lie far apart, each person who opens has a row, and it should not be large.
CREATE FUNCTION hot.person_bit_of_512(id bigint) RETURNS bit(512) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT set_bit(0::bit(512), (id & 511)::integer, 1) $$;

CREATE TABLE hot.campaign_activity_block (
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  block         bigint      NOT NULL,
  opened        bit(512)    NOT NULL DEFAULT 0::bit(512),
  clicked       bit(512)    NOT NULL DEFAULT 0::bit(512),
  human_opened  bit(512)    NOT NULL DEFAULT 0::bit(512),
  human_clicked bit(512)    NOT NULL DEFAULT 0::bit(512),
  first_at      timestamptz NOT NULL,
  last_on       date        NOT NULL,
  PRIMARY KEY (customer_id, campaign_id, block)
) WITH (fillfactor = 50);

-- The rows of hot.recipient_activity, put together by block.
CREATE FUNCTION hot.keep_campaign_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Where nothing changes no block is locked: it is looked at first. Nobody else changes the bit of a person whose row was
  -- written here before this transaction ends, so what is seen of these people is true.
  INSERT INTO hot.campaign_activity_block AS k
         (customer_id, campaign_id, block, opened, clicked, human_opened, human_clicked, first_at, last_on)
  SELECT w.* FROM (
    SELECT customer_id, campaign_id, subscriber_id >> 9 AS block,
           coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE open_count > 0), 0::bit(512)) AS opened,
           coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE click_count > 0), 0::bit(512)) AS clicked,
           coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE human_opens > 0 OR (human_clicks > 0 AND open_count > 0)), 0::bit(512)) AS human_opened,
           coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE human_clicks > 0), 0::bit(512)) AS human_clicked,
           min(CASE WHEN last_click_at IS NULL AND (click_count > 0 OR last_open_at IS NULL) THEN '-infinity' ELSE least(last_open_at, last_click_at) END) AS first_at,
           coalesce(max((greatest(last_open_at, last_click_at) AT TIME ZONE 'UTC')::date), '-infinity') AS last_on
      FROM written WHERE open_count > 0 OR click_count > 0 OR human_opens > 0 OR human_clicks > 0 GROUP BY 1, 2, 3) w
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
  -- Clicks that turn out to be a machine's are taken back.
  IF TG_OP = 'UPDATE' THEN
    UPDATE hot.campaign_activity_block k
       SET opened = k.opened & ~w.opened, clicked = k.clicked & ~w.clicked, human_opened = k.human_opened & ~w.human_opened,
           human_clicked = k.human_clicked & ~w.human_clicked
      FROM (SELECT customer_id, campaign_id, subscriber_id >> 9 AS block,
                   coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE open_count <= 0), 0::bit(512)) AS opened,
                   coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE click_count <= 0), 0::bit(512)) AS clicked,
                   coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE human_opens <= 0 AND (human_clicks <= 0 OR open_count <= 0)), 0::bit(512)) AS human_opened,
                   coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE human_clicks <= 0), 0::bit(512)) AS human_clicked
              FROM written GROUP BY 1, 2, 3) w
     WHERE k.customer_id = w.customer_id AND k.campaign_id = w.campaign_id AND k.block = w.block
       AND (k.opened & w.opened) | (k.clicked & w.clicked) | (k.human_opened & w.human_opened) | (k.human_clicked & w.human_clicked) <> 0::bit(512);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER keep_inserted AFTER INSERT ON hot.recipient_activity
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_campaign_activity();
CREATE TRIGGER keep_updated AFTER UPDATE ON hot.recipient_activity
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_campaign_activity();

INSERT INTO hot.campaign_activity_block (customer_id, campaign_id, block, opened, clicked, human_opened, human_clicked, first_at, last_on)
SELECT customer_id, campaign_id, subscriber_id >> 9 AS block,
       coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE open_count > 0), 0::bit(512)),
       coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE click_count > 0), 0::bit(512)),
       coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE human_opens > 0 OR (human_clicks > 0 AND open_count > 0)), 0::bit(512)),
       coalesce(bit_or(hot.person_bit_of_512(subscriber_id)) FILTER (WHERE human_clicks > 0), 0::bit(512)),
       min(CASE WHEN last_click_at IS NULL AND (click_count > 0 OR last_open_at IS NULL) THEN '-infinity' ELSE least(last_open_at, last_click_at) END),
       coalesce(max((greatest(last_open_at, last_click_at) AT TIME ZONE 'UTC')::date), '-infinity')
  FROM hot.recipient_activity WHERE open_count > 0 OR click_count > 0 OR human_opens > 0 OR human_clicks > 0 GROUP BY 1, 2, 3;

-- ------------------------------------------------------------------ who received a campaign
-- Who is `sent` in the ledger. Not written while a campaign is sent: a job makes these rows afterwards (refresh-received.ts),
-- and they are believed only while hot.delivery_counter says `sent` as often as they have bits. Nobody who was sent a
-- message ever stops being it, so the same number is the same people.
CREATE TABLE hot.received_block (
  customer_id bigint    NOT NULL,
  campaign_id bigint    NOT NULL,
  block       bigint    NOT NULL,
  members     bit(2048) NOT NULL DEFAULT 0::bit(2048),
  PRIMARY KEY (customer_id, campaign_id, block)
);

CREATE TABLE hot.received_campaign (
  customer_id bigint  NOT NULL,
  campaign_id bigint  NOT NULL,
  -- Bits in the campaign's rows.
  people      integer NOT NULL,
  -- What the counter said when they were made: the job comes back when it says something else.
  counted     integer NOT NULL,
  PRIMARY KEY (customer_id, campaign_id)
);

-- The counters were wrong and are put right: what was made by them is no longer believed.
CREATE FUNCTION hot.forget_received() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.received_campaign WHERE customer_id = NEW.customer_id AND campaign_id = NEW.campaign_id;
  RETURN NULL;
END $$;

CREATE TRIGGER forget_received AFTER UPDATE ON hot.delivery_counter
  FOR EACH ROW WHEN (NEW.sent < OLD.sent) EXECUTE FUNCTION hot.forget_received();

-- With their campaign these go as well.
CREATE FUNCTION hot.erase_campaign_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gone  record;
  child text;
BEGIN
  FOR gone IN SELECT customer_id, array_agg(id) AS ids FROM deleted GROUP BY customer_id LOOP
    FOREACH child IN ARRAY ARRAY['campaign_activity_block', 'received_block', 'received_campaign'] LOOP
      EXECUTE format('DELETE FROM hot.%I WHERE customer_id = $1 AND campaign_id = ANY ($2)', child) USING gone.customer_id, gone.ids;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;

CREATE TRIGGER erase_campaign_blocks AFTER DELETE ON public.campaign
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_campaign_blocks();
