-- Routes, health, paces and warm-up of sending servers; times of people.

-- ------------------------------------------------------------------ routes: [{"uid", "weight"}]; null: none chosen
ALTER TABLE customer ADD COLUMN sending_servers jsonb, ADD COLUMN sends_per_hour integer;
ALTER TABLE plan ADD COLUMN sending_servers jsonb;
ALTER TABLE campaign ADD COLUMN sending_servers jsonb;

-- ------------------------------------------------------------------ paces and warm-up of a server
ALTER TABLE sending_server
  ADD COLUMN domain_limits jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN warm_up jsonb,
  ADD COLUMN warm_up_started_at timestamptz(3),
  ADD COLUMN warm_up_stopped_at timestamptz(3),
  ADD COLUMN warm_up_stop_reason text;

-- ------------------------------------------------------------------ times of people
ALTER TABLE mail_list ADD COLUMN timezone text, ADD COLUMN timezone_tag text, ADD COLUMN quiet_hours jsonb;
ALTER TABLE campaign
  ADD COLUMN quiet_hours jsonb,
  ADD COLUMN deliver_in_subscriber_timezone boolean NOT NULL DEFAULT false,
  ADD COLUMN local_time text;

-- How many of a campaign's people are written to at a later moment: one row a moment, however many people.
CREATE TABLE hot.campaign_wave (
  customer_id bigint      NOT NULL,
  campaign_id bigint      NOT NULL,
  -- To the millisecond, as the clocks of the program are.
  at          timestamptz(3) NOT NULL,
  people      integer     NOT NULL,
  PRIMARY KEY (customer_id, campaign_id, at)
);

-- ------------------------------------------------------------------ health, shared by all workers
-- No row: well. mailbox_group '' is the server as a whole, else a provider or a domain behind it.
-- closed (with open_until ahead: a short rest) -> open until a time -> half-open: one prober, few at once -> no row.
CREATE TABLE hot.server_health (
  server_id       bigint      NOT NULL,
  mailbox_group   text        NOT NULL,
  state           text        NOT NULL CHECK (state IN ('closed', 'open', 'half-open')),
  -- In a row, without anything taken in between.
  failures        integer     NOT NULL,
  openings        integer     NOT NULL DEFAULT 0,
  backoff_seconds integer     NOT NULL DEFAULT 0,
  open_until      timestamptz,
  -- While half-open: so many at once, all of one process.
  slots           integer     NOT NULL DEFAULT 1,
  -- With more than so many it is well again.
  slots_max       integer     NOT NULL DEFAULT 1,
  progress        integer     NOT NULL DEFAULT 0,
  prober          uuid,
  prober_until    timestamptz,
  last_error      text,
  changed_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (server_id, mailbox_group)
) WITH (fillfactor = 50);

-- What a server in warm-up has sent on its first, second, third day.
CREATE TABLE hot.warm_up_day (
  server_id bigint  NOT NULL,
  day       integer NOT NULL,
  taken     integer NOT NULL DEFAULT 0,
  sent      integer NOT NULL DEFAULT 0,
  bounced   integer NOT NULL DEFAULT 0,
  PRIMARY KEY (server_id, day)
) WITH (fillfactor = 50);

CREATE FUNCTION hot.erase_servers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.server_health h USING deleted d WHERE h.server_id = d.id;
  DELETE FROM hot.warm_up_day w USING deleted d WHERE w.server_id = d.id;
  RETURN NULL;
END $$;
CREATE TRIGGER erase_servers AFTER DELETE ON public.sending_server
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_servers();

CREATE FUNCTION hot.erase_waves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.campaign_wave w USING deleted d WHERE w.customer_id = d.customer_id AND w.campaign_id = d.id;
  RETURN NULL;
END $$;
CREATE TRIGGER erase_waves AFTER DELETE ON public.campaign
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_waves();

-- One group's news of one process. `taken`: messages that the other side took; `troubles`: those that met trouble, after
-- them. A trouble of a message that left before the rest began is the same trouble, and makes the rest no longer.
CREATE FUNCTION hot.note_health(
  server bigint, mailboxes text, taken integer, troubles integer, message text,
  rest_min integer, rest_max integer, rests_early boolean, failures_max integer, openings_max integer, slots_goal integer)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  h  hot.server_health;
  at timestamptz := clock_timestamp();
BEGIN
  SELECT * INTO h FROM hot.server_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes FOR UPDATE;
  IF NOT FOUND THEN
    IF troubles = 0 THEN RETURN; END IF;
    INSERT INTO hot.server_health (server_id, mailbox_group, state, failures) VALUES (server, mailboxes, 'closed', 0)
    ON CONFLICT DO NOTHING;
    SELECT * INTO h FROM hot.server_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  -- It left before the rest began, and says nothing about what is after it.
  IF h.open_until > at THEN RETURN; END IF;
  IF h.state = 'closed' AND (taken > 0 OR h.changed_at < at - interval '1 day') THEN
    h.failures := 0;
    h.openings := 0;
    h.backoff_seconds := 0;
    IF troubles = 0 THEN
      DELETE FROM hot.server_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes;
      RETURN;
    END IF;
  ELSIF taken > 0 THEN
    h.progress := h.progress + taken;
    WHILE h.progress >= h.slots AND h.slots <= h.slots_max LOOP
      h.progress := h.progress - h.slots;
      h.slots := h.slots + 1;
    END LOOP;
    IF h.slots > h.slots_max AND troubles = 0 THEN
      DELETE FROM hot.server_health s WHERE s.server_id = server AND s.mailbox_group = mailboxes;
      RETURN;
    END IF;
  END IF;
  IF troubles > 0 THEN
    h.failures := h.failures + troubles;
    h.last_error := message;
    h.prober := NULL;
    h.prober_until := NULL;
    h.slots := 1;
    h.slots_max := slots_goal;
    h.progress := 0;
    IF h.openings >= openings_max THEN
      -- Told to go away for good, again and again: from now on each is told for itself, and a campaign comes to its end.
      h.state := 'closed';
      h.open_until := NULL;
    ELSE
      IF h.state <> 'closed' OR h.failures >= failures_max THEN
        h.state := 'open';
        h.openings := h.openings + 1;
      END IF;
      IF h.state = 'open' OR rests_early THEN
        h.backoff_seconds := least(rest_max, greatest(rest_min, h.backoff_seconds * 2));
        h.open_until := at + make_interval(secs => h.backoff_seconds);
      END IF;
    END IF;
  END IF;
  UPDATE hot.server_health s
     SET state = h.state, failures = h.failures, openings = h.openings, backoff_seconds = h.backoff_seconds, open_until = h.open_until,
         slots = h.slots, slots_max = h.slots_max, progress = h.progress, prober = h.prober, prober_until = h.prober_until, last_error = h.last_error, changed_at = at
   WHERE s.server_id = server AND s.mailbox_group = mailboxes;
END $$;

-- Takes a process's news, makes it the one that tries again where it wants to, a rest is over and nobody else tries (and
-- keeps it that), and answers what is not well. `news`: an array of the parameters of hot.note_health.
CREATE FUNCTION hot.sync_health(server bigint, worker uuid, lease interval, news jsonb, wanted text[])
RETURNS TABLE (mailbox_group text, state text, rest_seconds float8, is_mine boolean, slots integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM hot.note_health(server, n."group", n.taken, n.troubles, n.message, n.rest_min, n.rest_max, n.rests_early, n.failures_max, n.openings_max, n.slots_max)
     FROM (SELECT * FROM jsonb_to_recordset(news) AS n("group" text, taken integer, troubles integer, message text, rest_min integer,
             rest_max integer, rests_early boolean, failures_max integer, openings_max integer, slots_max integer) ORDER BY n."group" OFFSET 0) n;
  UPDATE hot.server_health s SET state = 'half-open', prober = worker, prober_until = clock_timestamp() + lease
    FROM (SELECT h.mailbox_group FROM hot.server_health h
           WHERE h.server_id = server AND h.mailbox_group = ANY (wanted) AND h.state <> 'closed' AND h.open_until <= clock_timestamp()
             AND (h.prober IS NULL OR h.prober = worker OR h.prober_until < clock_timestamp())
           FOR UPDATE SKIP LOCKED) due
   WHERE s.server_id = server AND s.mailbox_group = due.mailbox_group;
  RETURN QUERY
    SELECT h.mailbox_group, h.state, greatest(0, extract(epoch FROM h.open_until - clock_timestamp()))::float8,
           h.state = 'half-open' AND coalesce(h.prober = worker, false), h.slots
      FROM hot.server_health h WHERE h.server_id = server;
END $$;

-- ------------------------------------------------------------------ paces
-- Messages a server may send on this day of its warm-up; null: it is warm.
CREATE FUNCTION hot.warm_up_limit(schedule jsonb, day integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN l.allowed >= (schedule ->> 'goal')::float8 THEN NULL ELSE floor(l.allowed)::integer END
    FROM (SELECT CASE schedule ->> 'kind'
                   WHEN 'linear' THEN (schedule ->> 'start')::float8 + (schedule ->> 'step')::float8 * (day - 1)
                   WHEN 'exponential' THEN (schedule ->> 'start')::float8 * power((schedule ->> 'factor')::float8, least(day - 1, 200))
                   ELSE (schedule -> 'days' ->> (day - 1))::float8
                 END AS allowed) l
$$;

CREATE FUNCTION hot.warm_up_day_no(started_at timestamptz) RETURNS integer LANGUAGE sql VOLATILE AS $$
  SELECT greatest(1, 1 + floor(extract(epoch FROM clock_timestamp() - started_at) / 86400)::integer)
$$;

-- Takes from all buckets that a window of messages meets, in one statement. Class n of the messages (those to one provider)
-- has `wanted[n]` and, where limited, the bucket `class_bucket[n]` (an index into the arrays of buckets, else 0); every
-- bucket with `is_outer` and the warm-up's day hold for all of them together. `returned` was taken before and not used.
-- Answers per class what is granted and what its own bucket had; `stopped_by` is the outer bucket that had least, -1 the day.
CREATE FUNCTION hot.take_paces(
  keys text[], capacities float8[], rates float8[], is_outer boolean[], returned integer[],
  wanted integer[], class_bucket integer[],
  server bigint, schedule jsonb, warm_up_started timestamptz, day_returned integer)
RETURNS TABLE (granted integer[], class_room integer[], stopped_by integer, wait_seconds float8) LANGUAGE plpgsql AS $$
DECLARE
  bucket    record;
  available float8[] := array_fill(0::float8, ARRAY[coalesce(cardinality(keys), 0)]);
  used      integer[] := array_fill(0, ARRAY[coalesce(cardinality(keys), 0)]);
  room      float8 := 'Infinity';
  day_no    integer;
  day_limit integer;
  day_taken integer;
  part      integer;
  total     integer := 0;
  no        integer;
BEGIN
  granted := wanted;
  class_room := wanted;
  wait_seconds := 0;
  INSERT INTO hot.rate_bucket (key, tokens) SELECT b.key, b.capacity FROM unnest(keys, capacities) AS b(key, capacity) ORDER BY b.key
  ON CONFLICT DO NOTHING;
  -- Locked in one order by everybody.
  FOR bucket IN SELECT r.key, r.tokens, r.refilled_at FROM hot.rate_bucket r WHERE r.key = ANY (keys) ORDER BY r.key FOR UPDATE LOOP
    no := array_position(keys, bucket.key);
    -- A clock that was put back takes nothing away.
    available[no] := least(capacities[no], bucket.tokens + returned[no]
      + greatest(0, extract(epoch FROM clock_timestamp() - bucket.refilled_at)) * rates[no]);
    IF is_outer[no] AND floor(available[no]) < room THEN
      room := floor(available[no]);
      stopped_by := no;
      wait_seconds := CASE WHEN rates[no] > 0 THEN greatest(0, (1 - (available[no] - floor(available[no]))) / rates[no]) ELSE 60 END;
    END IF;
  END LOOP;
  IF schedule IS NOT NULL THEN
    day_no := hot.warm_up_day_no(warm_up_started);
    day_limit := hot.warm_up_limit(schedule, day_no);
    INSERT INTO hot.warm_up_day (server_id, day) VALUES (server, day_no) ON CONFLICT DO NOTHING;
    SELECT greatest(0, d.taken - day_returned) INTO day_taken FROM hot.warm_up_day d WHERE d.server_id = server AND d.day = day_no FOR UPDATE;
    IF day_limit IS NOT NULL AND day_limit - day_taken < room THEN
      room := greatest(0, day_limit - day_taken);
      stopped_by := -1;
      wait_seconds := 1 + 86400 * day_no - extract(epoch FROM clock_timestamp() - warm_up_started);
    END IF;
  END IF;
  FOR class IN 1..coalesce(cardinality(wanted), 0) LOOP
    IF class_bucket[class] > 0 THEN
      class_room[class] := least(wanted[class], greatest(0, floor(available[class_bucket[class]]) - used[class_bucket[class]]))::integer;
    END IF;
    part := least(class_room[class], greatest(0, room - total))::integer;
    granted[class] := part;
    total := total + part;
    IF class_bucket[class] > 0 THEN used[class_bucket[class]] := used[class_bucket[class]] + part; END IF;
  END LOOP;
  IF total < room THEN stopped_by := NULL; END IF;
  UPDATE hot.rate_bucket r
     SET tokens = available[array_position(keys, r.key)] - CASE WHEN is_outer[array_position(keys, r.key)] THEN total ELSE used[array_position(keys, r.key)] END,
         refilled_at = clock_timestamp()
   WHERE r.key = ANY (keys);
  IF schedule IS NOT NULL AND (total > 0 OR day_returned > 0) THEN
    UPDATE hot.warm_up_day d SET taken = day_taken + total WHERE d.server_id = server AND d.day = day_no;
  END IF;
  RETURN NEXT;
END $$;

-- How the warm-up goes. Above the share of hard bounces it stops by itself, and says so.
CREATE FUNCTION hot.note_warm_up(server bigint, n_sent integer, n_bounced integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s     record;
  today integer;
  sums  record;
BEGIN
  SELECT w.warm_up, w.warm_up_started_at, w.warm_up_stopped_at INTO s FROM public.sending_server w WHERE w.id = server AND w.warm_up IS NOT NULL;
  IF NOT FOUND THEN RETURN; END IF;
  today := hot.warm_up_day_no(s.warm_up_started_at);
  INSERT INTO hot.warm_up_day AS d (server_id, day, sent, bounced) VALUES (server, today, n_sent, n_bounced)
  ON CONFLICT (server_id, day) DO UPDATE SET sent = d.sent + n_sent, bounced = d.bounced + n_bounced;
  IF n_bounced = 0 OR s.warm_up_stopped_at IS NOT NULL OR s.warm_up -> 'bounce_rate_max' IS NULL OR hot.warm_up_limit(s.warm_up, today) IS NULL THEN RETURN; END IF;
  -- Yesterday's bounces may come today: both days are one day's picture.
  SELECT sum(d.sent) AS sent, sum(d.bounced) AS bounced INTO sums FROM hot.warm_up_day d WHERE d.server_id = server AND d.day >= today - 1;
  -- A share of a handful says nothing.
  IF sums.sent + sums.bounced >= 20 AND sums.bounced * 100.0 / (sums.sent + sums.bounced) > (s.warm_up ->> 'bounce_rate_max')::float8 THEN
    UPDATE public.sending_server w
       SET warm_up_stopped_at = now(), updated_at = now(),
           warm_up_stop_reason = format('%s of %s messages of the last day bounced hard: more than %s %%.', sums.bounced, sums.sent + sums.bounced, s.warm_up ->> 'bounce_rate_max')
     WHERE w.id = server AND w.warm_up_stopped_at IS NULL;
  END IF;
END $$;

-- Bounces that come by mail or by a vendor's call count for the server that sent the message.
CREATE FUNCTION hot.count_bounces_of_warm_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  one record;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM public.sending_server WHERE warm_up IS NOT NULL) THEN RETURN NULL; END IF;
  FOR one IN SELECT d.server_id, count(*)::integer AS bounced
               FROM inserted i
               JOIN public.campaign c ON c.customer_id = i.customer_id AND c.id = i.campaign_id AND c.planned_on IS NOT NULL
               JOIN hot.delivery d ON d.planned_on = c.planned_on AND d.customer_id = i.customer_id AND d.campaign_id = i.campaign_id AND d.subscriber_id = i.subscriber_id
              WHERE i.type = 'hard' AND d.server_id IS NOT NULL AND d.state IN ('sent', 'unknown') GROUP BY 1 ORDER BY 1 LOOP
    -- It was counted as taken before: of that many, one fewer got there.
    PERFORM hot.note_warm_up(one.server_id, -one.bounced, one.bounced);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER count_bounces_of_warm_up AFTER INSERT ON hot.bounce_event
  REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION hot.count_bounces_of_warm_up();
