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
