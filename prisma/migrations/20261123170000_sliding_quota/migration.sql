-- The quota is counted over a sliding window instead of a fixed one.
ALTER TABLE hot.send_budget
  -- How many had been sent in all at these times, in their order: hot.slide_window. The first pair stands for all before the window.
  ADD COLUMN quota_times  timestamptz[] NOT NULL DEFAULT '{}',
  ADD COLUMN quota_totals bigint[]      NOT NULL DEFAULT '{}';

-- What was sent in a fixed window that has not ended leaves when that window would have ended, as the customer was told.
UPDATE hot.send_budget b
   SET quota_times = ARRAY[w.began_at, w.began_at], quota_totals = ARRAY[b.quota_baseline, greatest(b.quota_baseline, w.delivered)]
  FROM (SELECT r.customer_id, r.quota_ends_at - r.quota_time::interval AS began_at,
               (SELECT coalesce(sum(c.sent + c.unknown), 0) FROM hot.delivery_counter c WHERE c.customer_id = r.customer_id)::bigint AS delivered
          FROM hot.send_budget r WHERE r.quota_time <> '' AND r.quota_ends_at > now()) w
 WHERE b.customer_id = w.customer_id;

ALTER TABLE hot.send_budget
  DROP COLUMN quota_time,
  DROP COLUMN quota_ends_at,
  DROP COLUMN quota_baseline;

-- A count over a sliding window. `totals[n]` is how many there had been in all at `times[n]`; the first pair stands for all before
-- the window. Adds the total of now, and drops what left the window: `total - totals[1]` is how many the window holds. Of each
-- sixtieth of the window's length only the latest time is kept, so something leaves a sixtieth late at most, and never early.
-- Months and years are counted by the calendar, in UTC; `at - length` and not `time + length`, so that no stretch of a calendar
-- month holds more, the end of January and February included.
CREATE OR REPLACE FUNCTION hot.slide_window(INOUT times timestamptz[], INOUT totals bigint[], total bigint, at timestamptz, length interval)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  last  integer := cardinality(times);
  first integer;
  slot  numeric := extract(epoch FROM length) / 60;
BEGIN
  IF last = 0 THEN
    times := ARRAY[at];
    totals := ARRAY[total];
    RETURN;
  END IF;
  -- A clock that was set back makes nothing older.
  at := greatest(at, times[last]);
  first := greatest(1, width_bucket((at AT TIME ZONE 'UTC' - length) AT TIME ZONE 'UTC', times));
  IF first > 1 THEN
    times := times[first:];
    totals := totals[first:];
    last := last - first + 1;
  END IF;
  IF total = totals[last] THEN RETURN; END IF;
  IF last = 1 OR floor(extract(epoch FROM times[last]) / slot) < floor(extract(epoch FROM at) / slot) THEN last := last + 1; END IF;
  times[last] := at;
  totals[last] := total;
  -- Only a window that was made longer has so many: two of them become one, which leaves with the later.
  IF last > 120 THEN
    times := times[1:1] || times[3:];
    totals := totals[1:1] || totals[3:];
  END IF;
END $$;

-- When something of this time leaves a sliding window of this length (hot.slide_window). A day that the later month does not have
-- leaves with the end of that month.
CREATE OR REPLACE FUNCTION hot.leaves_window(at timestamptz, length interval) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN l.later - length >= at AT TIME ZONE 'UTC' THEN l.later ELSE date_trunc('day', l.later) + interval '1 day' END AT TIME ZONE 'UTC'
    FROM (SELECT at AT TIME ZONE 'UTC' + length AS later) l
$$;

-- When the first of those that a sliding window holds leaves it; if it is full, when it has room for one more. Null: it is empty, or
-- never has room.
CREATE OR REPLACE FUNCTION hot.room_in_window_at(times timestamptz[], totals bigint[], total bigint, room_max bigint, length interval)
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT hot.leaves_window(min(w.at), length) FROM unnest(times, totals) AS w(at, total)
   WHERE w.total > greatest(totals[1], total - room_max)
$$;

-- The ledger's counters say so many fewer as sent; what was sent in the quota's window stays counted.
CREATE OR REPLACE FUNCTION hot.lower_sent_in_quota(customer bigint, fewer bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE hot.send_budget b SET quota_totals = ARRAY(SELECT t.total - fewer FROM unnest(b.quota_totals) WITH ORDINALITY AS t(total, no) ORDER BY t.no)
   WHERE b.customer_id = customer AND fewer > 0 AND cardinality(b.quota_totals) > 0
$$;

-- A deleted campaign's counters are deleted; what it sent stays counted in the budget.
CREATE OR REPLACE FUNCTION hot.keep_sent_in_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.send_budget b SET credits_baseline = b.credits_baseline - d.sent
    FROM (SELECT customer_id, sum(sent + unknown) AS sent FROM deleted GROUP BY customer_id) d
   WHERE b.customer_id = d.customer_id AND d.sent > 0;
  PERFORM hot.lower_sent_in_quota(d.customer_id, d.sent) FROM (SELECT customer_id, sum(sent + unknown)::bigint AS sent FROM deleted GROUP BY customer_id) d;
  RETURN NULL;
END $$;

-- Reserves a slice of the budget for one sending job. Deliveries and reservations are read in one snapshot: a job that ends
-- between two reads would be in neither. The quota is counted over a sliding window (hot.slide_window); without a quota nothing is
-- counted for it, and a later one begins with nothing used. A caller that still names the period before does not begin a new one.
CREATE OR REPLACE FUNCTION hot.lease_sends(
  customer bigint, kind smallint, source bigint, ledger_day date, from_recipient bigint, to_recipient bigint, job_worker uuid, wanted integer,
  credits_max bigint, period text, quota_max bigint, quota_length text, processes_max integer)
RETURNS TABLE (slice_id bigint, granted integer, refusal text, ends_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  budget    hot.send_budget;
  is_fresh  boolean;
  delivered bigint;
  reserved  bigint;
  running   integer;
  room      bigint;
  times     timestamptz[] := '{}';
  totals    bigint[] := '{}';
BEGIN
  INSERT INTO hot.send_budget AS b VALUES (customer, '', 0) ON CONFLICT (customer_id) DO NOTHING;
  SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE;
  is_fresh := budget.credits_period = '' OR (split_part(period, ':', 1)::bigint, period COLLATE "C")
    > (split_part(budget.credits_period, ':', 1)::bigint, budget.credits_period COLLATE "C");
  FOR attempt IN 1..2 LOOP
    SELECT (SELECT coalesce(sum(c.sent + c.unknown), 0) FROM hot.delivery_counter c WHERE c.customer_id = customer),
           coalesce(sum(s.amount), 0), count(*) FILTER (WHERE NOT s.is_over)
      INTO delivered, reserved, running
      FROM hot.send_slice s WHERE s.customer_id = customer;
    IF quota_max IS NOT NULL THEN
      SELECT w.times, w.totals INTO times, totals
        FROM hot.slide_window(budget.quota_times, budget.quota_totals, delivered, clock_timestamp(), quota_length::interval) w;
    END IF;
    IF is_fresh OR times <> budget.quota_times OR totals <> budget.quota_totals THEN
      UPDATE hot.send_budget b
         SET credits_period = CASE WHEN is_fresh THEN period ELSE b.credits_period END,
             credits_baseline = CASE WHEN is_fresh THEN delivered ELSE b.credits_baseline END,
             credits_carried = CASE WHEN is_fresh THEN 0 ELSE b.credits_carried END,
             quota_times = times, quota_totals = totals
       WHERE b.customer_id = customer RETURNING b.* INTO budget;
      is_fresh := false;
    END IF;
    IF credits_max IS NULL AND quota_max IS NULL AND processes_max IS NULL THEN
      granted := wanted;
      RETURN NEXT;
      RETURN;
    END IF;
    room := coalesce(least(credits_max - (delivered - budget.credits_baseline), quota_max - (delivered - totals[1])) - reserved, wanted);
    EXIT WHEN attempt = 2 OR (room >= wanted AND running < coalesce(processes_max, running + 1));
    PERFORM hot.end_expired_slices(customer);
  END LOOP;
  granted := CASE WHEN running >= processes_max THEN 0 ELSE greatest(0, least(wanted, room)) END;
  IF granted > 0 THEN
    INSERT INTO hot.send_slice AS s (customer_id, source_kind, source_id, snapshot_on, from_id, to_id, worker, amount)
    VALUES (customer, kind, source, ledger_day, from_recipient, to_recipient, job_worker, granted) RETURNING s.id INTO slice_id;
  ELSE
    refusal := CASE WHEN credits_max <= delivered - budget.credits_baseline THEN 'credits'
                    WHEN quota_max <= delivered - totals[1] THEN 'quota'
                    WHEN running >= processes_max THEN 'processes' ELSE 'held' END;
    IF refusal = 'quota' THEN ends_at := hot.room_in_window_at(times, totals, delivered, quota_max, quota_length::interval); END IF;
  END IF;
  RETURN NEXT;
END $$;

-- Ends a sending job's slice. What the job sent is counted for the quota now: whoever asks next may come much later.
CREATE OR REPLACE FUNCTION hot.return_sends(customer bigint, slice bigint, quota_length text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  budget    hot.send_budget;
  delivered bigint;
BEGIN
  -- In this order, as hot.lease_sends locks them.
  IF quota_length IS NOT NULL THEN SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE; END IF;
  DELETE FROM hot.send_slice s WHERE s.customer_id = customer AND s.id = slice;
  IF cardinality(budget.quota_times) > 0 THEN
    SELECT coalesce(sum(c.sent + c.unknown), 0) INTO delivered FROM hot.delivery_counter c WHERE c.customer_id = customer;
    UPDATE hot.send_budget b SET (quota_times, quota_totals) =
      (SELECT w.times, w.totals FROM hot.slide_window(b.quota_times, b.quota_totals, delivered, clock_timestamp(), quota_length::interval) w)
     WHERE b.customer_id = customer;
  END IF;
END $$;
