-- Reserves a slice of the budget for one sending job. Deliveries and reservations are read in one snapshot: a job that ends
-- between two reads would be in neither. The quota is counted over a sliding window (hot.slide_window); without a quota nothing is
-- counted for it, and a later one begins with nothing used. Only campaigns have sending jobs. A caller that still names the period before does not begin a new one.
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
  -- Its limit is for sending jobs: a long campaign would hold up all mails of flows.
  IF kind <> 1 THEN processes_max := NULL; END IF;
  INSERT INTO hot.send_budget AS b VALUES (customer, '', 0) ON CONFLICT (customer_id) DO NOTHING;
  SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE;
  is_fresh := budget.credits_period = '' OR (split_part(period, ':', 1)::bigint, period COLLATE "C")
    > (split_part(budget.credits_period, ':', 1)::bigint, budget.credits_period COLLATE "C");
  FOR attempt IN 1..2 LOOP
    SELECT (SELECT coalesce(sum(c.sent + c.unknown), 0) FROM hot.delivery_counter c WHERE c.customer_id = customer),
           coalesce(sum(s.amount), 0), count(*) FILTER (WHERE NOT s.is_over AND s.source_kind = 1)
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
