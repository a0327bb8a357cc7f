-- Until when a frequency cap forbids another message to an address: null, it does not. The message itself does not count. `list`
-- null: messages of the customer's lists together. What is later than the moment is not known yet (dry runs look at the past).
CREATE OR REPLACE FUNCTION hot.capped_until(
  customer bigint, list bigint, key text, own_kind smallint, own_source bigint, own_occurrence bigint, cap integer[], moment timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT m.at + make_interval(hours => 24 * cap[2]) FROM hot.capped_message m
   WHERE cap IS NOT NULL AND m.customer_id = customer AND m.email_key = key AND (list IS NULL OR m.list_id = list)
     AND m.at > moment - make_interval(hours => 24 * cap[2]) AND m.at <= moment + interval '1 minute'
     AND (m.source_kind, m.source_id, m.occurrence) IS DISTINCT FROM (own_kind, own_source, own_occurrence)
   ORDER BY m.at DESC OFFSET cap[1] - 1 LIMIT 1
$$;
