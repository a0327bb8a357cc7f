-- Counts messages and bounces of the warm-up. Above the allowed share of hard bounces it stops, with the reason.
CREATE OR REPLACE FUNCTION hot.record_warm_up(server bigint, n_sent integer, n_bounced integer) RETURNS void LANGUAGE plpgsql AS $$
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
  -- Yesterday's bounces may arrive today: both days are judged together.
  SELECT sum(d.sent) AS sent, sum(d.bounced) AS bounced INTO sums FROM hot.warm_up_day d WHERE d.server_id = server AND d.day >= today - 1;
  -- The share of a few messages means nothing.
  IF sums.sent + sums.bounced >= 20 AND sums.bounced * 100.0 / (sums.sent + sums.bounced) > (s.warm_up ->> 'bounce_rate_max')::float8 THEN
    UPDATE public.sending_server w
       SET warm_up_stopped_at = now(), updated_at = now(),
           warm_up_stop_reason = format('%s of %s messages of the last day bounced hard: more than %s %%.', sums.bounced, sums.sent + sums.bounced, s.warm_up ->> 'bounce_rate_max')
     WHERE w.id = server AND w.warm_up_stopped_at IS NULL;
  END IF;
END $$;
