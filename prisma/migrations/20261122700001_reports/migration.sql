-- Reports: people told from machines, places of opens and clicks, a stable order of events for downloads, and where a
-- driver's own message id leads.

-- ------------------------------------------------------------------ events
-- Two events may have one time: the id makes their order total, so that a download can go on where it stopped.
CREATE SEQUENCE hot.event_id AS bigint CACHE 32;
ALTER TABLE hot.open_event
  ADD COLUMN id bigint NOT NULL DEFAULT nextval('hot.event_id'), ADD COLUMN region text, ADD COLUMN city text,
  -- Nobody loaded the pixel: the open is known by a click.
  ADD COLUMN by_click boolean NOT NULL DEFAULT false;
ALTER TABLE hot.click_event
  ADD COLUMN id bigint NOT NULL DEFAULT nextval('hot.event_id'), ADD COLUMN region text, ADD COLUMN city text;
ALTER TABLE hot.unsubscribe_event ADD COLUMN id bigint NOT NULL DEFAULT nextval('hot.event_id');
ALTER TABLE hot.bounce_event ADD COLUMN id bigint NOT NULL DEFAULT nextval('hot.event_id');
ALTER TABLE hot.feedback_event ADD COLUMN id bigint NOT NULL DEFAULT nextval('hot.event_id');

DO $$
DECLARE
  event text;
BEGIN
  FOREACH event IN ARRAY ARRAY['open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'] LOOP
    EXECUTE format('DROP INDEX hot.%I', event || '_customer_id_campaign_id_at_idx');
    EXECUTE format('CREATE INDEX %I ON hot.%I (customer_id, campaign_id, at, id)', event || '_by_time', event);
  END LOOP;
END $$;

-- ------------------------------------------------------------------ people and machines
-- human_*: what a person did, as far as we can tell. was_human_*: the same before the last write, by which that write
-- knows what it changed. run_*: the clicks that follow each other within a second, which may turn out to be a
-- machine's: since when, until when, up to three of its links, how many of its clicks were taken for a person's, and
-- from how many links on it is a machine's.
ALTER TABLE hot.recipient_activity
  ADD COLUMN human_opens integer NOT NULL DEFAULT 0, ADD COLUMN human_clicks integer NOT NULL DEFAULT 0,
  ADD COLUMN was_human_opens integer NOT NULL DEFAULT 0, ADD COLUMN was_human_clicks integer NOT NULL DEFAULT 0,
  ADD COLUMN run_since timestamptz, ADD COLUMN run_until timestamptz, ADD COLUMN run_links integer[],
  ADD COLUMN run_clicks integer NOT NULL DEFAULT 0, ADD COLUMN run_limit smallint,
  -- Reports about the delivery.
  ADD COLUMN bounced_at timestamptz, ADD COLUMN bounce_type text, ADD COLUMN complained_at timestamptz;

-- Up to three different ones of both.
CREATE FUNCTION hot.some_links(a integer[], b integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT DISTINCT unnest(coalesce(a, '{}') || coalesce(b, '{}')) LIMIT 3)
$$;

ALTER TABLE hot.tracking_counter
  ADD COLUMN human_open_count integer NOT NULL DEFAULT 0, ADD COLUMN human_uniq_open_count integer NOT NULL DEFAULT 0,
  ADD COLUMN human_click_count integer NOT NULL DEFAULT 0, ADD COLUMN human_uniq_click_count integer NOT NULL DEFAULT 0,
  ADD COLUMN machine_open_count integer NOT NULL DEFAULT 0;

-- What was recorded before: by the marks on the events. The last statement of record-activity.ts counts the same way.
UPDATE hot.recipient_activity a SET human_opens = e.opens, human_clicks = e.clicks
  FROM (SELECT customer_id, campaign_id, subscriber_id, sum(opens)::integer AS opens, sum(clicks)::integer AS clicks
          FROM (SELECT customer_id, campaign_id, subscriber_id, 1 AS opens, 0 AS clicks FROM hot.open_event WHERE NOT is_machine
                UNION ALL
                SELECT customer_id, campaign_id, subscriber_id, 0, 1 FROM hot.click_event WHERE NOT is_machine) both_sides
         GROUP BY 1, 2, 3) e
 WHERE a.customer_id = e.customer_id AND a.campaign_id = e.campaign_id AND a.subscriber_id = e.subscriber_id;
UPDATE hot.tracking_counter t
   SET human_open_count = a.opens, human_uniq_open_count = a.openers, human_click_count = a.clicks,
       human_uniq_click_count = a.clickers, machine_open_count = greatest(t.open_count - a.opens, 0)
  FROM (SELECT customer_id, campaign_id, sum(human_opens) AS opens, count(*) FILTER (WHERE human_opens > 0) AS openers,
               sum(human_clicks) AS clicks, count(*) FILTER (WHERE human_clicks > 0) AS clickers
          FROM hot.recipient_activity GROUP BY 1, 2) a
 WHERE a.customer_id = t.customer_id AND a.campaign_id = t.campaign_id;

-- ------------------------------------------------------------------ places
-- Opens by place; the empty text is unknown: all of them where no GeoIP file is configured.
CREATE TABLE hot.location_counter (
  customer_id bigint  NOT NULL,
  campaign_id bigint  NOT NULL,
  country     text    NOT NULL,
  region      text    NOT NULL,
  city        text    NOT NULL,
  open_count  integer NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, campaign_id, country, region, city)
) WITH (fillfactor = 70);
-- The most frequent ones. Partial: places of a few opens, by far the most, do not pay for it.
CREATE INDEX location_counter_frequent ON hot.location_counter (customer_id, campaign_id, open_count DESC) WHERE open_count > 32;
INSERT INTO hot.location_counter (customer_id, campaign_id, country, region, city, open_count)
SELECT customer_id, campaign_id, '', '', '', open_count FROM hot.tracking_counter WHERE open_count > 0;

-- ------------------------------------------------------------------ message ids of drivers
-- A vendor's API names a message by an id of its own; reports quote that one. Messages under our own Message-ID (SMTP)
-- need no row: it says by itself whose it is. The key is the first half of a SHA-256 of the id.
CREATE TABLE hot.runtime_message (
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  message_key   bytea       NOT NULL,
  at            timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, campaign_id, subscriber_id, message_key)
);
CREATE INDEX runtime_message_by_key ON hot.runtime_message (message_key);

CREATE FUNCTION hot.erase_campaign_reports() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.location_counter t USING deleted d WHERE t.customer_id = d.customer_id AND t.campaign_id = d.id;
  DELETE FROM hot.runtime_message t USING deleted d WHERE t.customer_id = d.customer_id AND t.campaign_id = d.id;
  RETURN NULL;
END $$;

CREATE TRIGGER erase_campaign_reports AFTER DELETE ON public.campaign
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_campaign_reports();
