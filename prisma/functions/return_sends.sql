-- Ends a sending job's slice. What the job sent is counted for the quota now: whoever asks next may come much later.
CREATE OR REPLACE FUNCTION hot.return_sends(customer bigint, slice bigint, quota_length text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  budget    hot.send_budget;
  delivered bigint;
BEGIN
  -- In this order, as hot.lease_sends locks them.
  IF quota_length IS NOT NULL THEN SELECT * INTO budget FROM hot.send_budget b WHERE b.customer_id = customer FOR UPDATE; END IF;
  DELETE FROM hot.send_slice s WHERE s.customer_id = customer AND s.id = slice;
  IF cardinality(budget.quota_times) > 0 THEN
    SELECT coalesce(sum(c.sent + c.unknown), 0) INTO delivered FROM hot.delivery_counter c WHERE c.customer_id = customer;
    UPDATE hot.send_budget b SET (quota_times, quota_totals) =
      (SELECT w.times, w.totals FROM hot.slide_window(b.quota_times, b.quota_totals, delivered, clock_timestamp(), quota_length::interval) w)
     WHERE b.customer_id = customer;
  END IF;
END $$;
