-- The ledger: who gets what, and what became of it.

CREATE TYPE hot.delivery_state AS ENUM
  ('queued', 'leased', 'sending', 'sent', 'failed', 'skipped', 'suppressed', 'unknown');

-- One row per message: its key says which source sends it, to which recipient, and which of the source's messages to that recipient
-- it is (0399). No index on the state: rows change it three times, and without one these are heap-only updates. Statements name
-- the day, the source and a range of recipients, so the primary key serves. Columns stand by their size, so that nothing is padded.
CREATE TABLE hot.delivery (
  customer_id        bigint             NOT NULL,
  source_id          bigint             NOT NULL,
  -- A subscriber. Addresses without one will have ids of the same sequence.
  recipient_id       bigint             NOT NULL,
  -- Which of the source's messages to the recipient. A campaign sends one: 0.
  occurrence         bigint             NOT NULL DEFAULT 0,
  -- The list by which the recipient gets it; null: by none.
  list_id            bigint,
  updated_at         timestamptz        NOT NULL DEFAULT now(),
  lease_expires_at   timestamptz,
  not_before         timestamptz,
  server_id          bigint,
  -- Since when nobody knows whether somebody got the message: a vendor that knows messages again by a key does so for a
  -- limited time only. Null for almost everybody.
  ambiguous_since    timestamptz,
  snapshot_on        date               NOT NULL,
  state              hot.delivery_state NOT NULL DEFAULT 'queued'::hot.delivery_state,
  epoch              integer            NOT NULL DEFAULT 0,
  -- 1 campaign; src/domain/source-key.ts has them all.
  source_kind        smallint           NOT NULL,
  attempts           smallint           NOT NULL DEFAULT 0,
  ambiguous_count    smallint           NOT NULL DEFAULT 0,
  owner              uuid,
  email              text               NOT NULL,
  reason             text,
  reply              text,
  runtime_message_id text,
  PRIMARY KEY (customer_id, source_kind, source_id, recipient_id, occurrence, snapshot_on)
) PARTITION BY RANGE (snapshot_on);

-- open = queued + leased + sending. audience = open + sent + failed + skipped + suppressed + unknown, always.
CREATE TABLE hot.delivery_counter (
  customer_id bigint   NOT NULL,
  source_kind smallint NOT NULL,
  source_id   bigint   NOT NULL,
  audience    integer  NOT NULL DEFAULT 0,
  open        integer  NOT NULL DEFAULT 0,
  sent        integer  NOT NULL DEFAULT 0,
  failed      integer  NOT NULL DEFAULT 0,
  skipped     integer  NOT NULL DEFAULT 0,
  suppressed  integer  NOT NULL DEFAULT 0,
  unknown     integer  NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id, source_kind, source_id),
  CONSTRAINT delivery_counter_balances CHECK (audience = open + sent + failed + skipped + suppressed + unknown)
) WITH (fillfactor = 50);

-- A vendor's API names a message by an id of its own; reports quote that one. Messages under our own Message-ID (SMTP)
-- need no row: it says by itself whose it is. The key is the first half of a SHA-256 of the id.
CREATE TABLE hot.runtime_message (
  customer_id  bigint      NOT NULL,
  source_kind  smallint    NOT NULL,
  source_id    bigint      NOT NULL,
  recipient_id bigint      NOT NULL,
  occurrence   bigint      NOT NULL DEFAULT 0,
  message_key  bytea       NOT NULL,
  at           timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, source_kind, source_id, recipient_id, occurrence, message_key)
);
CREATE INDEX runtime_message_by_key ON hot.runtime_message (message_key);

-- How much was sent is in the counters of the ledger already (accepted, and handed over without an answer). A window
-- of credits or quota remembers only what they said when it began.
CREATE TABLE hot.send_budget (
  customer_id      bigint      NOT NULL,
  -- Subscription and beginning of the billing period that credits are counted for.
  credits_period   text        NOT NULL,
  credits_baseline bigint      NOT NULL,
  -- The quota's stretch of time as the plan says it; another one begins a new window.
  quota_time       text        NOT NULL,
  quota_ends_at    timestamptz NOT NULL,
  quota_baseline   bigint      NOT NULL,
  -- What a plan lets a customer send stays exact when jobs end while others count, and when the plan is changed.
  -- Of the credits counted as used: those that were used before, on another plan, and not yet paid for by time.
  credits_carried  bigint      NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id)
) WITH (fillfactor = 50);

-- A slice of the budget that one sending job holds while it works on its range of the ledger: not sent yet, and not
-- to be had by anybody else. A slice whose worker died is given back by `hot.end_expired_slices`.
CREATE TABLE hot.send_slice (
  customer_id bigint      NOT NULL,
  id          bigint      GENERATED ALWAYS AS IDENTITY,
  source_kind smallint    NOT NULL,
  source_id   bigint      NOT NULL,
  snapshot_on date        NOT NULL,
  from_id     bigint      NOT NULL,
  to_id       bigint      NOT NULL,
  worker      uuid        NOT NULL,
  amount      integer     NOT NULL,
  -- The job ended and left messages whose fate is not decided yet: the slice holds as many.
  is_over     boolean     NOT NULL DEFAULT false,
  -- A slice whose job could not give it back (the database was away at that moment) is given back by whoever needs it,
  -- though the worker runs: no job holds one for minutes without holding recipients.
  leased_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (customer_id, id)
) WITH (fillfactor = 50);

-- The order in which jobs of many customers run: start-time fair queueing. A customer's k-th waiting job gets the priority
-- V + k, where V is the lowest priority that waits. So ten jobs of one customer run beside the first ten of another that
-- has ten thousand. Jobs with priority 0 and below are not part of it.
CREATE TABLE hot.queue_priority (
  customer_id bigint  NOT NULL,
  -- The last priority given to first jobs, and to jobs that come back: these must not wait behind all first jobs.
  planned     integer NOT NULL DEFAULT 0,
  again       integer NOT NULL DEFAULT 0,
  PRIMARY KEY (customer_id)
) WITH (fillfactor = 70);
CREATE INDEX queue_priority_again ON hot.queue_priority (again);
CREATE INDEX queue_priority_planned ON hot.queue_priority (planned);

-- Records outcomes and marks the next recipients as `sending`. The caller passes the address that it read for each message; a
-- recipient whose address has changed since is not marked: the row stays queued and is read again. So the suppressions that are
-- checked are those of the address on the envelope, and the ledger keeps the address that was really used (0311). OFFSET 0 makes
-- each suppression a separate look-up: as a join they were all read again for each recipient where nested loops are off.
CREATE OR REPLACE FUNCTION hot.record_and_mark(
  ledger_day date, ledger_customer bigint, ledger_kind smallint, ledger_source bigint, worker uuid, server bigint, lease interval,
  ids bigint[], occurrences bigint[], epochs integer[], states hot.delivery_state[], tries boolean[], replies text[], reasons text[],
  message_ids text[], delays double precision[], unanswered boolean[],
  next_ids bigint[], next_occurrences bigint[], next_epochs integer[], next_emails text[], content integer)
RETURNS TABLE (recorded integer, goes_on boolean, not_marked integer[]) LANGUAGE plpgsql
-- Each row is found by its key: no other plan is better, whatever the statistics say.
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  -- Until the commit no other transaction changes the campaign's text. The following statements read the campaign after the lock
  -- was taken.
  IF ledger_kind = 1 AND cardinality(next_ids) > 0 THEN
    PERFORM pg_advisory_xact_lock_shared(hot.content_lock(ledger_source));
  END IF;
  RETURN QUERY
  WITH settled AS (
    UPDATE hot.delivery d
       SET state = o.state, epoch = o.epoch, reply = o.reply, reason = o.reason, runtime_message_id = o.message_id,
           attempts = d.attempts + o.is_try::integer, updated_at = now(), server_id = coalesce(server, d.server_id),
           ambiguous_count = d.ambiguous_count + o.is_unanswered::integer,
           not_before = CASE WHEN o.state = 'queued' THEN now() + make_interval(secs => o.delay_seconds) END,
           owner = CASE WHEN o.state = 'unknown' THEN d.owner END, lease_expires_at = NULL,
           -- Closed without being sent: the address that was checked.
           email = CASE WHEN o.state IN ('skipped', 'suppressed')
                        THEN coalesce((SELECT s.email FROM public.subscriber s
                                        WHERE s.customer_id = ledger_customer AND s.list_id = d.list_id AND s.id = d.recipient_id), d.email)
                        ELSE d.email END
      FROM unnest(ids, occurrences, epochs, states, tries, replies, reasons, message_ids, delays, unanswered)
        AS o(recipient_id, occurrence, epoch, state, is_try, reply, reason, message_id, delay_seconds, is_unanswered)
     WHERE d.snapshot_on = ledger_day AND d.customer_id = ledger_customer AND d.source_kind = ledger_kind AND d.source_id = ledger_source
       AND d.recipient_id = ANY(ids) AND d.recipient_id = o.recipient_id AND d.occurrence = o.occurrence
       AND (CASE d.state WHEN 'queued' THEN d.epoch = o.epoch - 1
            WHEN 'sending' THEN d.epoch = o.epoch AND d.owner = worker WHEN 'leased' THEN d.epoch = o.epoch AND d.owner = worker ELSE false END)
    RETURNING d.state
  ), counted AS (
    UPDATE hot.delivery_counter c
       SET open = c.open - t.closed, sent = c.sent + t.sent, failed = c.failed + t.failed, skipped = c.skipped + t.skipped,
           suppressed = c.suppressed + t.suppressed, unknown = c.unknown + t.unknown
      FROM (SELECT count(*) FILTER (WHERE state <> 'queued') AS closed, count(*) FILTER (WHERE state = 'sent') AS sent,
                   count(*) FILTER (WHERE state = 'failed') AS failed, count(*) FILTER (WHERE state = 'skipped') AS skipped,
                   count(*) FILTER (WHERE state = 'suppressed') AS suppressed, count(*) FILTER (WHERE state = 'unknown') AS unknown
              FROM settled) t
     WHERE c.customer_id = ledger_customer AND c.source_kind = ledger_kind AND c.source_id = ledger_source AND t.closed > 0
  ), source AS (
    -- In the result and not in the condition: so the row is found by its key only, whatever the statistics say about states.
    SELECT ledger_kind <> 1 OR coalesce(bool_or(c.status = 'sending' AND c.content_version = content), false) AS goes_on FROM public.campaign c
     WHERE ledger_kind = 1 AND c.customer_id = ledger_customer AND c.id = ledger_source
  ), marked AS (
    UPDATE hot.delivery d
       SET state = 'sending', epoch = n.epoch, owner = worker, lease_expires_at = now() + lease, updated_at = now(), server_id = server,
           email = n.email
      FROM unnest(next_ids, next_occurrences, next_epochs, next_emails) WITH ORDINALITY AS n(recipient_id, occurrence, epoch, email, no)
     WHERE d.snapshot_on = ledger_day AND d.customer_id = ledger_customer AND d.source_kind = ledger_kind AND d.source_id = ledger_source
       AND d.recipient_id = ANY(next_ids) AND d.recipient_id = n.recipient_id AND d.occurrence = n.occurrence
       AND (CASE d.state WHEN 'queued' THEN d.epoch = n.epoch - 1 AND (d.not_before IS NULL OR d.not_before <= now())
            WHEN 'sending' THEN d.epoch = n.epoch AND d.owner = worker WHEN 'leased' THEN d.epoch = n.epoch AND d.owner = worker ELSE false END)
       AND (SELECT source.goes_on FROM source)
       AND EXISTS (SELECT 1 FROM public.subscriber s
                    WHERE s.customer_id = ledger_customer AND s.list_id = d.list_id AND s.id = n.recipient_id AND s.status = 'subscribed'
                      AND s.email = n.email
                      AND NOT EXISTS (SELECT 1 FROM public.suppression x
                                       WHERE x.customer_id IN (0, ledger_customer) AND x.email_key = s.email_key OFFSET 0)
                    -- Both keep it one look-up per row. As a join it may read the whole list, or all suppressions, each time.
                    OFFSET 0)
    RETURNING n.no
  )
  SELECT (SELECT count(*) FROM settled)::integer, c.goes_on,
         CASE WHEN (SELECT count(*) FROM marked) < cardinality(next_ids)
              THEN (SELECT array_agg(i) FROM generate_subscripts(next_ids, 1) AS i WHERE i NOT IN (SELECT m.no FROM marked m)) END
    FROM source c;
END $$;
-- Before version 17 PostgreSQL may check the ids after reading all rows of the campaign. There each row is read by a separate
-- look-up.
DO $$
BEGIN
  IF current_setting('server_version_num')::integer < 170000 THEN
    ALTER FUNCTION hot.record_and_mark SET enable_nestloop = on;
    ALTER FUNCTION hot.record_and_mark SET enable_hashjoin = off;
  END IF;
END $$;

-- Reserves a slice of the budget for one sending job. Deliveries and reservations are read in one snapshot: a job that ends
-- between two reads would be in neither. A quota window that has begun continues when the plan's length changes, but never longer
-- than the new length. A caller that still names the period before does not begin a new one.
CREATE OR REPLACE FUNCTION hot.lease_sends(
  customer bigint, kind smallint, source bigint, ledger_day date, from_recipient bigint, to_recipient bigint, job_worker uuid, wanted integer,
  credits_max bigint, period text, quota_max bigint, quota_length text, processes_max integer)
RETURNS TABLE (slice_id bigint, granted integer, refusal text, ends_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  budget    hot.send_budget;
  is_fresh  boolean;
  is_over   boolean;
  delivered bigint;
  reserved  bigint;
  running   integer;
  room      bigint;
BEGIN
  INSERT INTO hot.send_budget AS b VALUES (customer, '', 0, '', '-infinity', 0) ON CONFLICT (customer_id) DO NOTHING;
  SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE;
  is_fresh := budget.credits_period = '' OR (split_part(period, ':', 1)::bigint, period COLLATE "C")
    > (split_part(budget.credits_period, ':', 1)::bigint, budget.credits_period COLLATE "C");
  is_over := budget.quota_ends_at <= clock_timestamp();
  IF is_fresh OR is_over OR budget.quota_time <> quota_length THEN
    SELECT coalesce(sum(c.sent + c.unknown), 0) INTO delivered FROM hot.delivery_counter c WHERE c.customer_id = customer;
    UPDATE hot.send_budget b
       SET credits_period = CASE WHEN is_fresh THEN period ELSE b.credits_period END,
           credits_baseline = CASE WHEN is_fresh THEN delivered ELSE b.credits_baseline END,
           credits_carried = CASE WHEN is_fresh THEN 0 ELSE b.credits_carried END,
           quota_time = quota_length,
           quota_baseline = CASE WHEN is_over THEN delivered ELSE b.quota_baseline END,
           quota_ends_at = CASE WHEN is_over THEN clock_timestamp() + quota_length::interval
                                ELSE least(b.quota_ends_at, clock_timestamp() + quota_length::interval) END
     WHERE b.customer_id = customer RETURNING b.* INTO budget;
  END IF;
  ends_at := budget.quota_ends_at;
  IF credits_max IS NULL AND quota_max IS NULL AND processes_max IS NULL THEN
    granted := wanted;
    RETURN NEXT;
    RETURN;
  END IF;
  FOR attempt IN 1..2 LOOP
    SELECT (SELECT coalesce(sum(c.sent + c.unknown), 0) FROM hot.delivery_counter c WHERE c.customer_id = customer),
           coalesce(sum(s.amount), 0), count(*) FILTER (WHERE NOT s.is_over)
      INTO delivered, reserved, running
      FROM hot.send_slice s WHERE s.customer_id = customer;
    room := coalesce(least(credits_max - (delivered - budget.credits_baseline), quota_max - (delivered - budget.quota_baseline)) - reserved, wanted);
    EXIT WHEN attempt = 2 OR (room >= wanted AND running < coalesce(processes_max, running + 1));
    PERFORM hot.end_expired_slices(customer);
  END LOOP;
  granted := CASE WHEN running >= processes_max THEN 0 ELSE greatest(0, least(wanted, room)) END;
  IF granted > 0 THEN
    INSERT INTO hot.send_slice AS s (customer_id, source_kind, source_id, snapshot_on, from_id, to_id, worker, amount)
    VALUES (customer, kind, source, ledger_day, from_recipient, to_recipient, job_worker, granted) RETURNING s.id INTO slice_id;
  ELSE
    refusal := CASE WHEN credits_max <= delivered - budget.credits_baseline THEN 'credits'
                    WHEN quota_max <= delivered - budget.quota_baseline THEN 'quota'
                    WHEN running >= processes_max THEN 'processes' ELSE 'held' END;
  END IF;
  RETURN NEXT;
END $$;

-- Ends the slices of dead workers, and abandoned ones. Rows that a dead worker had leased and not started are free under a new
-- epoch, so that a worker that was only cut off cannot start them; rows it had started stay reserved until their outcome is
-- known.
CREATE OR REPLACE FUNCTION hot.end_expired_slices(customer bigint) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  slice    record;
  is_alive boolean;
  held     integer;
BEGIN
  FOR slice IN SELECT * FROM hot.send_slice s
                WHERE s.customer_id = customer
                  AND (s.is_over OR s.leased_at < clock_timestamp() - interval '5 minutes' OR NOT hot.is_worker_alive(s.worker)) LOOP
    is_alive := NOT slice.is_over AND hot.is_worker_alive(slice.worker);
    IF NOT slice.is_over AND NOT is_alive THEN
      UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
       WHERE d.snapshot_on = slice.snapshot_on AND d.customer_id = customer AND d.source_kind = slice.source_kind AND d.source_id = slice.source_id
         AND d.recipient_id BETWEEN slice.from_id AND slice.to_id AND d.state = 'leased' AND d.owner = slice.worker;
    END IF;
    SELECT count(*) INTO held FROM hot.delivery d
     WHERE d.snapshot_on = slice.snapshot_on AND d.customer_id = customer AND d.source_kind = slice.source_kind AND d.source_id = slice.source_id
       AND d.recipient_id BETWEEN slice.from_id AND slice.to_id AND d.owner = slice.worker
       AND (d.state = 'sending' OR (is_alive AND d.state = 'leased'));
    IF held = 0 THEN DELETE FROM hot.send_slice s WHERE s.customer_id = customer AND s.id = slice.id;
    ELSIF NOT is_alive THEN
      UPDATE hot.send_slice s SET amount = held, is_over = true WHERE s.customer_id = customer AND s.id = slice.id;
    END IF;
  END LOOP;
END $$;

-- A period of credits by its subscription and its beginning, as send-budget.ts writes it.
CREATE OR REPLACE FUNCTION hot.credits_period(subscription_id bigint, starts_at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT subscription_id || ':' || to_char(starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- A change of plan refunds the unused time, so credits used beyond the time that was kept count against the new plan: repeated
-- changes give no extra credits. A renewal keeps only carried credits beyond a whole period's.
CREATE OR REPLACE FUNCTION hot.carry_credits() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  delivered   bigint;
  used        bigint;
  credits_max bigint;
  kept_share  double precision := 1;
  budget      hot.send_budget;
  carried     bigint := 0;
BEGIN
  SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = NEW.customer_id FOR UPDATE;
  IF budget.credits_period IS DISTINCT FROM hot.credits_period(OLD.id, OLD.current_period_started_at) THEN RETURN NULL; END IF;
  SELECT coalesce(sum(c.sent + c.unknown), 0) INTO delivered FROM hot.delivery_counter c WHERE c.customer_id = NEW.customer_id;
  used := delivered - budget.credits_baseline;
  SELECT (p.options || OLD.options ->> 'email_max')::bigint INTO credits_max FROM public.plan p WHERE p.id = OLD.plan_id;
  IF OLD.plan_id = NEW.plan_id THEN
    used := least(used, budget.credits_carried);
  ELSIF OLD.current_period_ends_at > OLD.current_period_started_at THEN
    kept_share := extract(epoch FROM NEW.current_period_started_at - OLD.current_period_started_at)
      / extract(epoch FROM OLD.current_period_ends_at - OLD.current_period_started_at);
  END IF;
  IF credits_max >= 0 THEN
    carried := greatest(0, used - floor(credits_max * least(1, greatest(0, kept_share)))::bigint);
  END IF;
  UPDATE hot.send_budget b
     SET credits_period = hot.credits_period(NEW.id, NEW.current_period_started_at), credits_baseline = delivered - carried, credits_carried = carried
   WHERE b.customer_id = NEW.customer_id;
  RETURN NULL;
END $$;

-- A deleted campaign's counters are deleted; what it sent stays counted in the budget.
CREATE OR REPLACE FUNCTION hot.keep_sent_in_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.send_budget b
     SET credits_baseline = b.credits_baseline - d.sent, quota_baseline = b.quota_baseline - d.sent
    FROM (SELECT customer_id, sum(sent + unknown) AS sent FROM deleted GROUP BY customer_id) d
   WHERE b.customer_id = d.customer_id AND d.sent > 0;
  RETURN NULL;
END $$;

-- Deletes the rows of a deleted customer.
CREATE OR REPLACE FUNCTION hot.erase_send_budgets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.send_slice s USING deleted d WHERE s.customer_id = d.id;
  DELETE FROM hot.send_budget b USING deleted d WHERE b.customer_id = d.id;
  RETURN NULL;
END $$;

-- Takes `amount` consecutive priorities, and returns the first. `served` is the priority that is served now.
CREATE OR REPLACE FUNCTION hot.take_priorities(customer bigint, amount integer, is_again boolean, served integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  last integer;
BEGIN
  IF is_again THEN
    INSERT INTO hot.queue_priority AS t (customer_id, again) VALUES (customer, served + amount - 1)
      ON CONFLICT (customer_id) DO UPDATE SET again = greatest(t.again, served - 1) + amount RETURNING t.again INTO last;
  ELSE
    INSERT INTO hot.queue_priority AS t (customer_id, planned) VALUES (customer, served + amount - 1)
      ON CONFLICT (customer_id) DO UPDATE SET planned = greatest(t.planned, served - 1) + amount RETURNING t.planned INTO last;
  END IF;
  RETURN last - amount + 1;
END $$;

-- When counters were corrected, the blocks made from them are no longer used.
CREATE OR REPLACE FUNCTION hot.remove_received() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.received_campaign WHERE customer_id = NEW.customer_id AND campaign_id = NEW.source_id;
  RETURN NULL;
END $$;

CREATE TRIGGER keep_sent_in_budget AFTER DELETE ON hot.delivery_counter
  REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.keep_sent_in_budget();

CREATE TRIGGER remove_received AFTER UPDATE ON hot.delivery_counter
  FOR EACH ROW
  WHEN (new.sent < old.sent AND new.source_kind = 1)
  EXECUTE FUNCTION hot.remove_received();

CREATE TRIGGER carry_credits AFTER UPDATE ON subscription
  FOR EACH ROW
  WHEN (((new.current_period_started_at > old.current_period_started_at) OR ((new.current_period_started_at = old.current_period_started_at) AND (new.plan_id <> old.plan_id))))
  EXECUTE FUNCTION hot.carry_credits();

CREATE TRIGGER erase_send_budgets AFTER DELETE ON customer
  REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT
  EXECUTE FUNCTION hot.erase_send_budgets();
