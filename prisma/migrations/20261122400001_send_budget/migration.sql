-- What a plan lets a customer send: credits of a billing period and a quota per stretch of time, counted without a row
-- that every message writes to.

-- A campaign that reached a limit of its customer's plan stays `sending` and goes on at this time.
ALTER TABLE "campaign" ADD COLUMN "waits_until" TIMESTAMPTZ(3);

-- How much was sent is in the counters of the ledger already (accepted, and handed over without an answer). A window
-- of credits or quota remembers only what they said when it began.
CREATE TABLE hot.send_budget (
  customer_id      bigint PRIMARY KEY,
  -- Subscription and beginning of the billing period that credits are counted for.
  credits_period   text        NOT NULL,
  credits_baseline bigint      NOT NULL,
  -- The quota's stretch of time as the plan says it; another one begins a new window.
  quota_time       text        NOT NULL,
  quota_ends_at    timestamptz NOT NULL,
  quota_baseline   bigint      NOT NULL
) WITH (fillfactor = 50);

-- A slice of the budget that one sending job holds while it works on its range of the ledger: not sent yet, and not
-- to be had by anybody else. A slice whose worker died is given back by `hot.reap_slices`.
CREATE TABLE hot.send_slice (
  customer_id bigint  NOT NULL,
  id          bigint  GENERATED ALWAYS AS IDENTITY,
  campaign_id bigint  NOT NULL,
  planned_on  date    NOT NULL,
  from_id     bigint  NOT NULL,
  to_id       bigint  NOT NULL,
  worker      uuid    NOT NULL,
  amount      integer NOT NULL,
  -- The job ended and left messages whose fate is not decided yet: the slice holds as many.
  is_over     boolean NOT NULL DEFAULT false,
  PRIMARY KEY (customer_id, id)
) WITH (fillfactor = 50);

-- A deleted campaign takes its counters along; what was sent was sent.
CREATE FUNCTION hot.keep_sent_in_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.send_budget b
     SET credits_baseline = b.credits_baseline - d.sent, quota_baseline = b.quota_baseline - d.sent
    FROM (SELECT customer_id, sum(sent + unknown) AS sent FROM deleted GROUP BY customer_id) d
   WHERE b.customer_id = d.customer_id AND d.sent > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_sent_in_budget AFTER DELETE ON hot.delivery_counter
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_sent_in_budget();

-- A deleted customer leaves nothing here.
CREATE FUNCTION hot.erase_send_budgets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.send_slice s USING deleted d WHERE s.customer_id = d.id;
  DELETE FROM hot.send_budget b USING deleted d WHERE b.customer_id = d.id;
  RETURN NULL;
END $$;
CREATE TRIGGER erase_send_budgets AFTER DELETE ON public.customer
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_send_budgets();

-- Gives back the slices of dead workers. What such a worker had leased and not begun is free again, so that it cannot
-- begin it any more should it only have been cut off; what it had begun stays reserved until its fate is decided.
CREATE FUNCTION hot.reap_slices(customer bigint) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  slice record;
  begun integer;
BEGIN
  FOR slice IN SELECT * FROM hot.send_slice s WHERE s.customer_id = customer AND (s.is_over OR NOT hot.is_worker_alive(s.worker)) LOOP
    IF NOT slice.is_over THEN
      UPDATE hot.delivery d SET state = 'queued', owner = NULL, lease_expires_at = NULL, updated_at = now()
       WHERE d.planned_on = slice.planned_on AND d.customer_id = customer AND d.campaign_id = slice.campaign_id
         AND d.subscriber_id BETWEEN slice.from_id AND slice.to_id AND d.state = 'leased' AND d.owner = slice.worker;
    END IF;
    SELECT count(*) INTO begun FROM hot.delivery d
     WHERE d.planned_on = slice.planned_on AND d.customer_id = customer AND d.campaign_id = slice.campaign_id
       AND d.subscriber_id BETWEEN slice.from_id AND slice.to_id AND d.state = 'sending' AND d.owner = slice.worker;
    IF begun = 0 THEN DELETE FROM hot.send_slice s WHERE s.customer_id = customer AND s.id = slice.id;
    ELSE UPDATE hot.send_slice s SET amount = begun, is_over = true WHERE s.customer_id = customer AND s.id = slice.id;
    END IF;
  END LOOP;
END $$;

-- Takes up to `wanted` messages from the customer's budget for one sending job. `refusal` says why there was nothing:
-- `credits` or `quota` (used up; the quota until `ends_at`), `processes` (as many jobs as the plan allows are sending) or
-- `held` (the rest is in other jobs' hands: sent soon, or given back). A null limit is none. The new slice's id is null
-- when there is no limit at all.
-- One row is locked per job, not per message; each statement here sees what was committed before that lock was had.
CREATE FUNCTION hot.lease_sends(
  customer bigint, campaign bigint, ledger_day date, from_subscriber bigint, to_subscriber bigint, job_worker uuid, wanted integer,
  credits_max bigint, period text, quota_max bigint, quota_length text, processes_max integer)
RETURNS TABLE (slice_id bigint, granted integer, refusal text, ends_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  budget    hot.send_budget;
  delivered bigint;
  reserved  bigint;
  running   integer;
  room      bigint;
  used_up   bigint;
BEGIN
  INSERT INTO hot.send_budget AS b VALUES (customer, '', 0, '', '-infinity', 0) ON CONFLICT (customer_id) DO NOTHING;
  SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE;
  SELECT coalesce(sum(c.sent + c.unknown), 0) INTO delivered FROM hot.delivery_counter c WHERE c.customer_id = customer;
  IF budget.credits_period <> period OR budget.quota_time <> quota_length OR budget.quota_ends_at <= clock_timestamp() THEN
    UPDATE hot.send_budget b
       SET credits_period = period,
           credits_baseline = CASE WHEN b.credits_period = period THEN b.credits_baseline ELSE delivered END,
           quota_time = quota_length,
           quota_baseline = CASE WHEN b.quota_time = quota_length AND b.quota_ends_at > clock_timestamp() THEN b.quota_baseline ELSE delivered END,
           quota_ends_at = CASE WHEN b.quota_time = quota_length AND b.quota_ends_at > clock_timestamp() THEN b.quota_ends_at
                                ELSE clock_timestamp() + quota_length::interval END
     WHERE b.customer_id = customer RETURNING b.* INTO budget;
  END IF;
  ends_at := budget.quota_ends_at;
  IF credits_max IS NULL AND quota_max IS NULL AND processes_max IS NULL THEN
    granted := wanted;
    RETURN NEXT;
    RETURN;
  END IF;
  used_up := least(credits_max - (delivered - budget.credits_baseline), quota_max - (delivered - budget.quota_baseline));
  FOR attempt IN 1..2 LOOP
    SELECT coalesce(sum(s.amount), 0), count(*) FILTER (WHERE NOT s.is_over) INTO reserved, running
      FROM hot.send_slice s WHERE s.customer_id = customer;
    room := coalesce(used_up - reserved, wanted);
    EXIT WHEN attempt = 2 OR (room >= wanted AND running < coalesce(processes_max, running + 1));
    PERFORM hot.reap_slices(customer);
  END LOOP;
  granted := CASE WHEN running >= processes_max THEN 0 ELSE greatest(0, least(wanted, room)) END;
  IF granted > 0 THEN
    INSERT INTO hot.send_slice AS s (customer_id, campaign_id, planned_on, from_id, to_id, worker, amount)
    VALUES (customer, campaign, ledger_day, from_subscriber, to_subscriber, job_worker, granted) RETURNING s.id INTO slice_id;
  ELSE
    refusal := CASE WHEN credits_max <= delivered - budget.credits_baseline THEN 'credits'
                    WHEN quota_max <= delivered - budget.quota_baseline THEN 'quota'
                    WHEN running >= processes_max THEN 'processes' ELSE 'held' END;
  END IF;
  RETURN NEXT;
END $$;
