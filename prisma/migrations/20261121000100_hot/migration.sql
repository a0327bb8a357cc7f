-- Hot tables: the ledger, events, counters. They live outside Prisma's models, in a schema of their own, so that
-- partitions are no drift. No foreign keys here: they would cost every batch a look-up a row.

CREATE SCHEMA hot;

-- ------------------------------------------------------------------ the ledger
CREATE TYPE hot.delivery_state AS ENUM
  ('queued', 'leased', 'sending', 'sent', 'failed', 'skipped', 'suppressed', 'unknown');

-- One row per campaign and recipient. No index on the state: rows change it three times, and without one these
-- are heap-only updates. Every statement names the day and a range of subscriber ids, so the primary key serves.
CREATE TABLE hot.delivery (
  planned_on         date               NOT NULL,
  customer_id        bigint             NOT NULL,
  campaign_id        bigint             NOT NULL,
  subscriber_id      bigint             NOT NULL,
  state              hot.delivery_state NOT NULL DEFAULT 'queued',
  epoch              integer            NOT NULL DEFAULT 0,
  attempts           smallint           NOT NULL DEFAULT 0,
  ambiguous_count    smallint           NOT NULL DEFAULT 0,
  owner              uuid,
  lease_expires_at   timestamptz,
  not_before         timestamptz,
  server_id          bigint,
  updated_at         timestamptz        NOT NULL DEFAULT now(),
  email              text               NOT NULL,
  reason             text,
  reply              text,
  runtime_message_id text,
  PRIMARY KEY (customer_id, campaign_id, subscriber_id, planned_on)
) PARTITION BY RANGE (planned_on);

-- open = queued + leased + sending. audience = open + sent + failed + skipped + suppressed + unknown, always.
CREATE TABLE hot.delivery_counter (
  customer_id bigint  NOT NULL,
  campaign_id bigint  NOT NULL,
  audience    integer NOT NULL DEFAULT 0,
  open        integer NOT NULL DEFAULT 0,
  sent        integer NOT NULL DEFAULT 0,
  failed      integer NOT NULL DEFAULT 0,
  skipped     integer NOT NULL DEFAULT 0,
  suppressed  integer NOT NULL DEFAULT 0,
  unknown     integer NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, campaign_id),
  CONSTRAINT delivery_counter_balances
    CHECK (audience = open + sent + failed + skipped + suppressed + unknown)
) WITH (fillfactor = 50);

-- Token buckets of sending servers: what may still be sent now, refilled by the clock of the database.
CREATE TABLE hot.rate_bucket (
  key         text             PRIMARY KEY,
  tokens      double precision NOT NULL,
  refilled_at timestamptz      NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Takes up to `wanted` tokens and answers how many were granted.
CREATE FUNCTION hot.take_tokens(bucket text, wanted integer, capacity double precision, per_second double precision)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  available double precision;
  granted   integer;
BEGIN
  INSERT INTO hot.rate_bucket (key, tokens) VALUES (bucket, capacity) ON CONFLICT DO NOTHING;
  -- A clock that was put back takes nothing away.
  SELECT least(capacity, tokens + greatest(0, extract(epoch FROM clock_timestamp() - refilled_at)) * per_second)
    INTO available FROM hot.rate_bucket WHERE key = bucket FOR UPDATE;
  granted := least(wanted, floor(available)::integer);
  UPDATE hot.rate_bucket SET tokens = available - granted, refilled_at = clock_timestamp() WHERE key = bucket;
  RETURN granted;
END $$;

-- Records how attempts ended and marks the next rows as `sending`: the ledger's one hot write (ledger-store.ts calls
-- it and says what it promises). A function for its planner settings: a ledger grows faster than the statistics, and
-- a plan that took it for tiny would read all of it for every write. The keys come from a materialised set, so the
-- only way left is one look-up in the primary key a row.
CREATE FUNCTION hot.settle_deliveries(
  ledger_day date, ledger_customer bigint, ledger_campaign bigint, list bigint, worker uuid, server bigint, lease interval,
  ids bigint[], epochs integer[], states hot.delivery_state[], tries boolean[], replies text[], reasons text[],
  message_ids text[], delays double precision[], next_ids bigint[], next_epochs integer[])
RETURNS TABLE (kind text, value bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN QUERY
  WITH outcome AS MATERIALIZED (
    SELECT ledger_customer AS customer_id, ledger_campaign AS campaign_id, o.*
      FROM unnest(ids, epochs, states, tries, replies, reasons, message_ids, delays)
        AS o(subscriber_id, epoch, state, is_try, reply, reason, message_id, delay_seconds)
  ), settled AS (
    UPDATE hot.delivery d
       SET state = o.state, reply = o.reply, reason = o.reason, runtime_message_id = o.message_id,
           attempts = d.attempts + o.is_try::integer, updated_at = now(), server_id = coalesce(server, d.server_id),
           ambiguous_count = d.ambiguous_count + (o.reason IS NOT DISTINCT FROM 'no answer')::integer,
           not_before = CASE WHEN o.state = 'queued' THEN now() + make_interval(secs => o.delay_seconds) END,
           owner = CASE WHEN o.state = 'unknown' THEN d.owner END, lease_expires_at = NULL
      FROM outcome o
     WHERE d.planned_on = ledger_day AND d.customer_id = o.customer_id AND d.campaign_id = o.campaign_id
       AND d.subscriber_id = o.subscriber_id AND d.epoch = o.epoch AND d.owner = worker AND d.state IN ('leased', 'sending')
    RETURNING d.state
  ), counted AS (
    UPDATE hot.delivery_counter c
       SET open = c.open - t.closed, sent = c.sent + t.sent, failed = c.failed + t.failed, skipped = c.skipped + t.skipped,
           suppressed = c.suppressed + t.suppressed, unknown = c.unknown + t.unknown
      FROM (SELECT count(*) FILTER (WHERE state <> 'queued') AS closed, count(*) FILTER (WHERE state = 'sent') AS sent,
                   count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped,
                   count(*) FILTER (WHERE state = 'suppressed') AS suppressed, count(*) FILTER (WHERE state = 'unknown') AS unknown
              FROM settled) t
     WHERE c.customer_id = ledger_customer AND c.campaign_id = ledger_campaign AND t.closed > 0
  ), campaign AS (
    SELECT count(*) > 0 AS is_sending FROM public.campaign c
     WHERE c.customer_id = ledger_customer AND c.id = ledger_campaign AND c.status = 'sending'
  ), next AS MATERIALIZED (
    SELECT ledger_customer AS customer_id, ledger_campaign AS campaign_id, n.* FROM unnest(next_ids, next_epochs) AS n(subscriber_id, epoch)
  ), marked AS (
    UPDATE hot.delivery d SET state = 'sending', lease_expires_at = now() + lease, updated_at = now(), server_id = server
      FROM next n
     WHERE d.planned_on = ledger_day AND d.customer_id = n.customer_id AND d.campaign_id = n.campaign_id
       AND d.subscriber_id = n.subscriber_id AND d.epoch = n.epoch AND d.owner = worker AND d.state IN ('leased', 'sending')
       AND (SELECT is_sending FROM campaign)
       AND EXISTS (SELECT 1 FROM public.subscriber s
                    WHERE s.customer_id = ledger_customer AND s.list_id = list AND s.id = n.subscriber_id AND s.status = 'subscribed'
                      AND NOT EXISTS (SELECT 1 FROM public.suppression x
                                       WHERE x.customer_id IN (0, ledger_customer) AND x.email_key = s.email_key))
    RETURNING d.subscriber_id
  )
  SELECT 'marked', m.subscriber_id FROM marked m
  UNION ALL SELECT 'recorded', count(*) FROM settled
  UNION ALL SELECT 'sending', c.is_sending::integer::bigint FROM campaign c;
END $$;

-- Whether the worker process of this name lives: it holds an advisory lock in its name for as long as it does.
CREATE FUNCTION hot.is_worker_alive(worker uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT 1 FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.objsubid = 1
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(worker::text, 0))
$$;

-- ------------------------------------------------------------------ what comes back
CREATE TABLE hot.open_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  is_machine    boolean     NOT NULL DEFAULT false,
  ip            text,
  user_agent    text,
  country       text
) PARTITION BY RANGE (at);
CREATE INDEX ON hot.open_event (customer_id, campaign_id, at);

CREATE TABLE hot.click_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  link_no       integer     NOT NULL,
  is_machine    boolean     NOT NULL DEFAULT false,
  url           text        NOT NULL,
  ip            text,
  user_agent    text,
  country       text
) PARTITION BY RANGE (at);
CREATE INDEX ON hot.click_event (customer_id, campaign_id, at);

CREATE TABLE hot.unsubscribe_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  reason        text,
  ip            text,
  user_agent    text
) PARTITION BY RANGE (at);
CREATE INDEX ON hot.unsubscribe_event (customer_id, campaign_id, at);

CREATE TABLE hot.bounce_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  type          text        NOT NULL,
  status_code   text,
  message       text
) PARTITION BY RANGE (at);
CREATE INDEX ON hot.bounce_event (customer_id, campaign_id, at);

CREATE TABLE hot.feedback_event (
  at            timestamptz NOT NULL,
  customer_id   bigint      NOT NULL,
  campaign_id   bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  type          text        NOT NULL,
  message       text
) PARTITION BY RANGE (at);
CREATE INDEX ON hot.feedback_event (customer_id, campaign_id, at);

-- What one recipient did with one campaign: tells a first open from a further one.
CREATE TABLE hot.recipient_activity (
  customer_id     bigint      NOT NULL,
  campaign_id     bigint      NOT NULL,
  subscriber_id   bigint      NOT NULL,
  open_count      integer     NOT NULL DEFAULT 0,
  click_count     integer     NOT NULL DEFAULT 0,
  -- Null beside open_count 1: the open is known by a click only.
  last_open_at    timestamptz,
  last_click_at   timestamptz,
  unsubscribed_at timestamptz,
  PRIMARY KEY (customer_id, campaign_id, subscriber_id)
) WITH (fillfactor = 80);
-- The most frequent openers. Partial: a first open, by far the most frequent write, does not touch it.
CREATE INDEX ON hot.recipient_activity (customer_id, campaign_id, open_count DESC) WHERE open_count > 1;

-- Who clicked which link at least once.
CREATE TABLE hot.recipient_link (
  customer_id   bigint  NOT NULL,
  campaign_id   bigint  NOT NULL,
  link_no       integer NOT NULL,
  subscriber_id bigint  NOT NULL,
  PRIMARY KEY (customer_id, campaign_id, link_no, subscriber_id)
);

-- Subscribers of a list that ever opened or clicked, and when first; the others have no row. Serves `open=yes` by key.
CREATE TABLE hot.subscriber_activity (
  customer_id   bigint      NOT NULL,
  list_id       bigint      NOT NULL,
  subscriber_id bigint      NOT NULL,
  opened_at     timestamptz,
  clicked_at    timestamptz,
  PRIMARY KEY (customer_id, list_id, subscriber_id)
) WITH (fillfactor = 80);
-- Clickers are few among openers: without this, a page of them would walk past all the others.
CREATE INDEX subscriber_activity_clickers ON hot.subscriber_activity (customer_id, list_id, subscriber_id)
  WHERE clicked_at IS NOT NULL;

CREATE TABLE hot.tracking_counter (
  customer_id          bigint  NOT NULL,
  campaign_id          bigint  NOT NULL,
  open_count           integer NOT NULL DEFAULT 0,
  uniq_open_count      integer NOT NULL DEFAULT 0,
  click_count          integer NOT NULL DEFAULT 0,
  uniq_click_count     integer NOT NULL DEFAULT 0,
  unsubscribe_count    integer NOT NULL DEFAULT 0,
  bounce_count         integer NOT NULL DEFAULT 0,
  abuse_feedback_count integer NOT NULL DEFAULT 0,
  last_open_at         timestamptz,
  last_click_at        timestamptz,
  PRIMARY KEY (customer_id, campaign_id)
) WITH (fillfactor = 50);

CREATE TABLE hot.link_counter (
  customer_id      bigint  NOT NULL,
  campaign_id      bigint  NOT NULL,
  link_no          integer NOT NULL,
  url              text    NOT NULL,
  click_count      integer NOT NULL DEFAULT 0,
  uniq_click_count integer NOT NULL DEFAULT 0,
  last_click_at    timestamptz,
  PRIMARY KEY (customer_id, campaign_id, link_no)
) WITH (fillfactor = 50);

-- ------------------------------------------------------------------ counters of lists
-- The first four are kept by triggers on `subscriber`, so that no way of writing can forget them.
-- openers and clickers count rows of hot.subscriber_activity; the sums are over all campaigns of the list.
CREATE TABLE hot.list_counter (
  customer_id      bigint  NOT NULL,
  list_id          bigint  NOT NULL,
  subscribed       integer NOT NULL DEFAULT 0,
  unsubscribed     integer NOT NULL DEFAULT 0,
  unconfirmed      integer NOT NULL DEFAULT 0,
  pending          integer NOT NULL DEFAULT 0,
  openers          integer NOT NULL DEFAULT 0,
  clickers         integer NOT NULL DEFAULT 0,
  sent_count       bigint  NOT NULL DEFAULT 0,
  uniq_open_count  bigint  NOT NULL DEFAULT 0,
  uniq_click_count bigint  NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, list_id)
) WITH (fillfactor = 50);

-- How many subscribers of a list have an id in each block of 2,048 ids: where a page at any offset begins is found
-- by adding up some hundred numbers, so that the last page of a million costs what the first one costs.
CREATE TABLE hot.subscriber_block (
  customer_id bigint  NOT NULL,
  list_id     bigint  NOT NULL,
  block       bigint  NOT NULL,
  members     integer NOT NULL,
  PRIMARY KEY (customer_id, list_id, block)
) WITH (fillfactor = 50);
-- Which lists have somebody near an id: finds a subscriber by its id alone without an index on the largest table.
CREATE INDEX subscriber_block_by_id ON hot.subscriber_block (block);

CREATE FUNCTION hot.count_inserted_subscribers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.list_counter AS c (customer_id, list_id, subscribed, unsubscribed, unconfirmed, pending)
  SELECT customer_id, list_id,
         count(*) FILTER (WHERE status = 'subscribed'), count(*) FILTER (WHERE status = 'unsubscribed'),
         count(*) FILTER (WHERE status = 'unconfirmed'), count(*) FILTER (WHERE status = 'pending')
    FROM inserted GROUP BY customer_id, list_id ORDER BY customer_id, list_id
  ON CONFLICT (customer_id, list_id) DO UPDATE SET
    subscribed = c.subscribed + excluded.subscribed, unsubscribed = c.unsubscribed + excluded.unsubscribed,
    unconfirmed = c.unconfirmed + excluded.unconfirmed, pending = c.pending + excluded.pending;
  INSERT INTO hot.subscriber_block AS b (customer_id, list_id, block, members)
  SELECT customer_id, list_id, id >> 11, count(*) FROM inserted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (customer_id, list_id, block) DO UPDATE SET members = b.members + excluded.members;
  RETURN NULL;
END $$;

CREATE FUNCTION hot.count_deleted_subscribers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.list_counter c SET
    subscribed = c.subscribed - d.subscribed, unsubscribed = c.unsubscribed - d.unsubscribed,
    unconfirmed = c.unconfirmed - d.unconfirmed, pending = c.pending - d.pending
  FROM (SELECT customer_id, list_id,
               count(*) FILTER (WHERE status = 'subscribed') AS subscribed,
               count(*) FILTER (WHERE status = 'unsubscribed') AS unsubscribed,
               count(*) FILTER (WHERE status = 'unconfirmed') AS unconfirmed,
               count(*) FILTER (WHERE status = 'pending') AS pending
          FROM deleted GROUP BY customer_id, list_id) d
  WHERE c.customer_id = d.customer_id AND c.list_id = d.list_id;
  UPDATE hot.subscriber_block b SET members = b.members - d.members
  FROM (SELECT customer_id, list_id, id >> 11 AS block, count(*) AS members FROM deleted GROUP BY 1, 2, 3) d
  WHERE b.customer_id = d.customer_id AND b.list_id = d.list_id AND b.block = d.block;
  RETURN NULL;
END $$;

CREATE FUNCTION hot.count_updated_subscribers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.list_counter c SET
    subscribed = c.subscribed + d.subscribed, unsubscribed = c.unsubscribed + d.unsubscribed,
    unconfirmed = c.unconfirmed + d.unconfirmed, pending = c.pending + d.pending
  FROM (SELECT customer_id, list_id,
               sum(sign) FILTER (WHERE status = 'subscribed') AS subscribed,
               sum(sign) FILTER (WHERE status = 'unsubscribed') AS unsubscribed,
               sum(sign) FILTER (WHERE status = 'unconfirmed') AS unconfirmed,
               sum(sign) FILTER (WHERE status = 'pending') AS pending
          FROM (SELECT o.customer_id, o.list_id, o.status, -1 AS sign FROM before o JOIN after n USING (customer_id, list_id, id) WHERE o.status <> n.status
                UNION ALL
                SELECT n.customer_id, n.list_id, n.status, 1 FROM before o JOIN after n USING (customer_id, list_id, id) WHERE o.status <> n.status) moved
         GROUP BY customer_id, list_id) s,
       LATERAL (SELECT coalesce(s.subscribed, 0) AS subscribed, coalesce(s.unsubscribed, 0) AS unsubscribed,
                       coalesce(s.unconfirmed, 0) AS unconfirmed, coalesce(s.pending, 0) AS pending) d
  WHERE c.customer_id = s.customer_id AND c.list_id = s.list_id;
  RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON public.subscriber
  REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION hot.count_inserted_subscribers();
CREATE TRIGGER count_deleted AFTER DELETE ON public.subscriber
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.count_deleted_subscribers();
CREATE TRIGGER count_updated AFTER UPDATE ON public.subscriber
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION hot.count_updated_subscribers();

-- ------------------------------------------------------------------ what a deletion takes with it
-- No foreign key reaches these rows; these triggers do what ON DELETE CASCADE would, however a list or a campaign
-- comes to be deleted (by itself, or with its customer).
CREATE FUNCTION hot.erase_lists() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM public.subscriber s USING deleted d WHERE s.customer_id = d.customer_id AND s.list_id = d.id;
  DELETE FROM public.consent_event e USING deleted d WHERE e.customer_id = d.customer_id AND e.list_id = d.id;
  DELETE FROM hot.subscriber_activity a USING deleted d WHERE a.customer_id = d.customer_id AND a.list_id = d.id;
  DELETE FROM hot.subscriber_block b USING deleted d WHERE b.customer_id = d.customer_id AND b.list_id = d.id;
  DELETE FROM hot.list_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id;
  RETURN NULL;
END $$;

CREATE FUNCTION hot.erase_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  child text;
BEGIN
  FOREACH child IN ARRAY ARRAY['delivery', 'delivery_counter', 'open_event', 'click_event', 'unsubscribe_event',
    'bounce_event', 'feedback_event', 'recipient_activity', 'recipient_link', 'tracking_counter', 'link_counter'] LOOP
    EXECUTE format('DELETE FROM hot.%I t USING deleted d WHERE t.customer_id = d.customer_id AND t.campaign_id = d.id', child);
  END LOOP;
  RETURN NULL;
END $$;

CREATE TRIGGER erase_lists AFTER DELETE ON public.mail_list
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_lists();
CREATE TRIGGER erase_campaigns AFTER DELETE ON public.campaign
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_campaigns();

-- ------------------------------------------------------------------ partitions
-- Makes the monthly partitions from the month of `first_day` to the month of `last_day`; those that exist stay.
CREATE FUNCTION hot.ensure_partitions(first_day date, last_day date) RETURNS integer LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
  parent text;
  month  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('mailwright:partitions', 0));
  FOREACH parent IN ARRAY ARRAY['delivery', 'open_event', 'click_event', 'unsubscribe_event', 'bounce_event', 'feedback_event'] LOOP
    month := date_trunc('month', first_day)::date;
    WHILE month <= last_day LOOP
      IF to_regclass(format('hot.%I', parent || '_' || to_char(month, 'YYYY_MM'))) IS NULL THEN
        EXECUTE format('CREATE TABLE hot.%I PARTITION OF hot.%I FOR VALUES FROM (%L) TO (%L)%s',
          parent || '_' || to_char(month, 'YYYY_MM'), parent, month, (month + interval '1 month')::date,
          CASE WHEN parent = 'delivery' THEN ' WITH (fillfactor = 70)' ELSE '' END);
        made := made + 1;
      END IF;
      month := (month + interval '1 month')::date;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- ------------------------------------------------------------------ the built-in inbox
CREATE SCHEMA inbox;

CREATE TABLE inbox.message (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  received_at timestamptz NOT NULL DEFAULT now(),
  mail_from   text        NOT NULL,
  rcpt_to     text[]      NOT NULL,
  subject     text        NOT NULL DEFAULT '',
  size        integer     NOT NULL,
  raw         bytea       NOT NULL
);
