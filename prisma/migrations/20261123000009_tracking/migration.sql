-- Opens, clicks and unsubscribes, and what is counted of them.

CREATE SEQUENCE hot.event_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 32;

-- Opens and clicks as they came, before they are counted. The request is answered when its row here is committed; a
-- follower moves rows on into events and counters within a fraction of a second and deletes them in the same
-- transaction. One row is what one process gathered while its commit before was under way: a few to some hundred
-- events, as arrays, because a row costs the same whatever it holds. No statement looks for one event: no index but the key.
CREATE TABLE hot.tracking_event (
  id             bigint      GENERATED ALWAYS AS IDENTITY,
  written_at     timestamptz NOT NULL DEFAULT now(),
  -- When the oldest and the newest of them came.
  since          timestamptz NOT NULL,
  until          timestamptz NOT NULL,
  size           integer     NOT NULL,
  customer_ids   bigint[]    NOT NULL,
  list_ids       bigint[]    NOT NULL,
  source_kinds   smallint[]  NOT NULL,
  source_ids     bigint[]    NOT NULL,
  recipient_ids  bigint[]    NOT NULL,
  occurrences    bigint[]    NOT NULL,
  -- Null: an open.
  link_nos       integer[]   NOT NULL,
  urls           text[]      NOT NULL,
  are_machines   boolean[]   NOT NULL,
  is_prefetch    boolean[]   NOT NULL,
  ips            text[]      NOT NULL,
  user_agents    text[]      NOT NULL,
  countries      text[]      NOT NULL,
  regions        text[]      NOT NULL,
  cities         text[]      NOT NULL,
  -- Milliseconds between the event and written_at.
  ages           integer[]   NOT NULL,
  PRIMARY KEY (id)
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE hot.tracking_event
  ALTER COLUMN customer_ids SET STORAGE EXTERNAL,
  ALTER COLUMN list_ids SET STORAGE EXTERNAL,
  ALTER COLUMN source_kinds SET STORAGE EXTERNAL,
  ALTER COLUMN source_ids SET STORAGE EXTERNAL,
  ALTER COLUMN recipient_ids SET STORAGE EXTERNAL,
  ALTER COLUMN occurrences SET STORAGE EXTERNAL,
  ALTER COLUMN link_nos SET STORAGE EXTERNAL,
  ALTER COLUMN urls SET STORAGE EXTERNAL,
  ALTER COLUMN ips SET STORAGE EXTERNAL,
  ALTER COLUMN user_agents SET STORAGE EXTERNAL,
  ALTER COLUMN ages SET STORAGE EXTERNAL;

CREATE TABLE hot.open_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  source_id     bigint      NOT NULL,
  recipient_id  bigint      NOT NULL,
  occurrence    bigint      NOT NULL DEFAULT 0,
  source_kind   smallint    NOT NULL,
  is_machine    boolean     NOT NULL DEFAULT false,
  ip            text,
  user_agent    text,
  country       text,
  id            bigint      NOT NULL DEFAULT nextval('hot.event_id'),
  region        text,
  city          text,
  by_click      boolean     NOT NULL DEFAULT false
) PARTITION BY RANGE (at);
CREATE INDEX open_event_by_time ON hot.open_event (customer_id, source_kind, source_id, at, id);
-- What came back from one person, without reading what came back from all.
CREATE INDEX open_event_of_person ON hot.open_event (customer_id, source_kind, source_id, recipient_id);

CREATE TABLE hot.click_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  source_id     bigint      NOT NULL,
  recipient_id  bigint      NOT NULL,
  occurrence    bigint      NOT NULL DEFAULT 0,
  source_kind   smallint    NOT NULL,
  link_no       integer     NOT NULL,
  is_machine    boolean     NOT NULL DEFAULT false,
  url           text        NOT NULL,
  ip            text,
  user_agent    text,
  country       text,
  id            bigint      NOT NULL DEFAULT nextval('hot.event_id'),
  region        text,
  city          text
) PARTITION BY RANGE (at);
CREATE INDEX click_event_by_time ON hot.click_event (customer_id, source_kind, source_id, at, id);
CREATE INDEX click_event_of_person ON hot.click_event (customer_id, source_kind, source_id, recipient_id);

CREATE TABLE hot.unsubscribe_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  source_id     bigint      NOT NULL,
  recipient_id  bigint      NOT NULL,
  occurrence    bigint      NOT NULL DEFAULT 0,
  source_kind   smallint    NOT NULL,
  reason        text,
  ip            text,
  user_agent    text,
  id            bigint      NOT NULL DEFAULT nextval('hot.event_id')
) PARTITION BY RANGE (at);
CREATE INDEX unsubscribe_event_by_time ON hot.unsubscribe_event (customer_id, source_kind, source_id, at, id);
CREATE INDEX unsubscribe_event_of_person ON hot.unsubscribe_event (customer_id, source_kind, source_id, recipient_id);

-- What one recipient did with one message: tells a first open from a further one.
CREATE TABLE hot.recipient_activity (
  customer_id      bigint      NOT NULL,
  source_id        bigint      NOT NULL,
  recipient_id     bigint      NOT NULL,
  occurrence       bigint      NOT NULL DEFAULT 0,
  open_count       integer     NOT NULL DEFAULT 0,
  click_count      integer     NOT NULL DEFAULT 0,
  -- Null beside open_count 1: the open is known by a click only.
  last_open_at     timestamptz,
  last_click_at    timestamptz,
  unsubscribed_at  timestamptz,
  -- human_*: what a person did, as far as we can tell. was_human_*: the same before the last write, by which that write
  -- knows what it changed. burst_*: the clicks that follow each other within a second, which may turn out to be a
  -- machine's: since when, until when, up to three of its links, how many of its clicks were taken for a person's, and
  -- from how many links on it is a machine's.
  human_opens      integer     NOT NULL DEFAULT 0,
  human_clicks     integer     NOT NULL DEFAULT 0,
  was_human_opens  integer     NOT NULL DEFAULT 0,
  was_human_clicks integer     NOT NULL DEFAULT 0,
  burst_since      timestamptz,
  burst_until      timestamptz,
  burst_links      integer[],
  burst_clicks     integer     NOT NULL DEFAULT 0,
  burst_limit      smallint,
  source_kind      smallint    NOT NULL,
  bounced_at       timestamptz,
  bounce_type      text,
  complained_at    timestamptz,
  PRIMARY KEY (customer_id, source_kind, source_id, recipient_id, occurrence)
) WITH (fillfactor = 80);
CREATE INDEX recipient_activity_frequent ON hot.recipient_activity (customer_id, source_kind, source_id, open_count DESC) WHERE (open_count > 1);

-- Who clicked which link at least once.
CREATE TABLE hot.recipient_link (
  customer_id  bigint   NOT NULL,
  source_id    bigint   NOT NULL,
  recipient_id bigint   NOT NULL,
  occurrence   bigint   NOT NULL DEFAULT 0,
  link_no      integer  NOT NULL,
  source_kind  smallint NOT NULL,
  PRIMARY KEY (customer_id, source_kind, source_id, link_no, recipient_id, occurrence)
);

CREATE TABLE hot.tracking_counter (
  customer_id            bigint      NOT NULL,
  source_kind            smallint    NOT NULL,
  source_id              bigint      NOT NULL,
  open_count             integer     NOT NULL DEFAULT 0,
  uniq_open_count        integer     NOT NULL DEFAULT 0,
  click_count            integer     NOT NULL DEFAULT 0,
  uniq_click_count       integer     NOT NULL DEFAULT 0,
  unsubscribe_count      integer     NOT NULL DEFAULT 0,
  bounce_count           integer     NOT NULL DEFAULT 0,
  abuse_feedback_count   integer     NOT NULL DEFAULT 0,
  last_open_at           timestamptz,
  last_click_at          timestamptz,
  human_open_count       integer     NOT NULL DEFAULT 0,
  human_uniq_open_count  integer     NOT NULL DEFAULT 0,
  human_click_count      integer     NOT NULL DEFAULT 0,
  human_uniq_click_count integer     NOT NULL DEFAULT 0,
  machine_open_count     integer     NOT NULL DEFAULT 0,
  -- Bounces of messages that the first server refused already: they count as bounces, and were never sent.
  refused_bounce_count   integer     NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, source_kind, source_id)
) WITH (fillfactor = 50);

CREATE TABLE hot.link_counter (
  customer_id      bigint      NOT NULL,
  source_kind      smallint    NOT NULL,
  source_id        bigint      NOT NULL,
  link_no          integer     NOT NULL,
  url              text        NOT NULL,
  click_count      integer     NOT NULL DEFAULT 0,
  uniq_click_count integer     NOT NULL DEFAULT 0,
  last_click_at    timestamptz,
  PRIMARY KEY (customer_id, source_kind, source_id, link_no)
) WITH (fillfactor = 50);

-- Opens by place; the empty text is unknown: all of them where no GeoIP file is configured.
CREATE TABLE hot.location_counter (
  customer_id bigint   NOT NULL,
  source_kind smallint NOT NULL,
  source_id   bigint   NOT NULL,
  country     text     NOT NULL,
  region      text     NOT NULL,
  city        text     NOT NULL,
  open_count  integer  NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, source_kind, source_id, country, region, city)
) WITH (fillfactor = 70);
-- The most frequent ones. Partial: places of a few opens, by far the most, do not pay for it.
CREATE INDEX location_counter_frequent ON hot.location_counter (customer_id, source_kind, source_id, open_count DESC) WHERE (open_count > 32);

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

-- How often people opened and clicked a campaign, and who clicked which of its links, as bits (0071): "at least three
-- opens" and "clicked a link that contains" read some thousand rows then, instead of one row a person and campaign.
-- Opens and clicks do not write these rows. A job makes them (refresh-counts.ts) from the rows of the people, at most
-- once a day and campaign; until then segments read the rows of the people.
-- How often, in binary: `members` are the people in whose number this digit (0 is the ones, 1 the twos, ...) is 1.
-- Digits that nobody of the block has are no rows.
CREATE TABLE hot.campaign_count_block (
  customer_id bigint    NOT NULL,
  campaign_id bigint    NOT NULL,
  -- opens, clicks, human_opens, human_clicks
  kind        text      NOT NULL,
  block       bigint    NOT NULL,
  digit       smallint  NOT NULL,
  members     bit(2048) NOT NULL DEFAULT 0::bit(2048),
  PRIMARY KEY (customer_id, campaign_id, kind, block, digit)
);

CREATE TABLE hot.campaign_link_block (
  customer_id bigint    NOT NULL,
  campaign_id bigint    NOT NULL,
  link_no     integer   NOT NULL,
  block       bigint    NOT NULL,
  members     bit(2048) NOT NULL DEFAULT 0::bit(2048),
  PRIMARY KEY (customer_id, campaign_id, link_no, block)
);

-- The campaigns that have such rows. They are used for blocks of hot.campaign_activity_block where nothing has
-- happened on this day (UTC) or since: last_on < counted_on. Of the others the rows of the people are read.
CREATE TABLE hot.counted_campaign (
  customer_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  counted_on  date   NOT NULL,
  PRIMARY KEY (customer_id, campaign_id)
);

-- Who is `sent` in the ledger. Not written while a campaign is sent: a job makes these rows afterwards (refresh-received.ts),
-- and they are used only while hot.delivery_counter says `sent` as often as they have bits. Nobody who was sent a
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

-- Up to three different links of both.
CREATE OR REPLACE FUNCTION hot.some_links(a integer[], b integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT DISTINCT unnest(coalesce(a, '{}') || coalesce(b, '{}')) LIMIT 3)
$$;

-- Deleted together with their campaign.
CREATE OR REPLACE FUNCTION hot.erase_campaign_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Deleted at once with its campaign; the blocks are erased later with all other rows of the campaign (0031).
CREATE OR REPLACE FUNCTION hot.erase_counted_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.counted_campaign k USING deleted d WHERE k.customer_id = d.customer_id AND k.campaign_id = d.id;
  RETURN NULL;
END $$;

CREATE TRIGGER keep_inserted AFTER INSERT ON hot.recipient_activity
  REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.keep_campaign_activity();

CREATE TRIGGER keep_updated AFTER UPDATE ON hot.recipient_activity
  REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.keep_campaign_activity();

CREATE TRIGGER erase_campaign_blocks AFTER DELETE ON campaign
  REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.erase_campaign_blocks();

CREATE TRIGGER erase_counted_campaigns AFTER DELETE ON campaign
  REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.erase_counted_campaigns();
