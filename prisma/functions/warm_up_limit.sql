-- Messages a server may send on this day of its warm-up; null: the warm-up has ended.
CREATE OR REPLACE FUNCTION hot.warm_up_limit(schedule jsonb, day integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN l.allowed >= (schedule ->> 'goal')::float8 THEN NULL ELSE floor(l.allowed)::integer END
    FROM (SELECT CASE schedule ->> 'kind'
                   WHEN 'linear' THEN (schedule ->> 'start')::float8 + (schedule ->> 'step')::float8 * (day - 1)
                   WHEN 'exponential' THEN (schedule ->> 'start')::float8 * power((schedule ->> 'factor')::float8, least(day - 1, 200))
                   ELSE (schedule -> 'days' ->> (day - 1))::float8
                 END AS allowed) l
$$;
