CREATE OR REPLACE FUNCTION hot.warm_up_day_no(started_at timestamptz) RETURNS integer LANGUAGE sql VOLATILE AS $$
  SELECT greatest(1, 1 + floor(extract(epoch FROM clock_timestamp() - started_at) / 86400)::integer)
$$;
