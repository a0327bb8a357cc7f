-- A period of credits by its subscription and its beginning, as send-budget.ts writes it.
CREATE OR REPLACE FUNCTION hot.credits_period(subscription_id bigint, starts_at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT subscription_id || ':' || to_char(starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
