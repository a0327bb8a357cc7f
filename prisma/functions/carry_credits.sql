-- A change of plan gives the time that is left back, so what was used beyond the time that is kept is taken along:
-- changing to and fro makes no credits, as it makes no money. A renewal forgets all but what was taken along and is more
-- than a whole period has.
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
