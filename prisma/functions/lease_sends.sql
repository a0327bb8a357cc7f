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
