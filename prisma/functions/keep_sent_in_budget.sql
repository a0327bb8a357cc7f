-- A deleted campaign's counters are deleted; what it sent stays counted in the budget.
CREATE OR REPLACE FUNCTION hot.keep_sent_in_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hot.send_budget b SET credits_baseline = b.credits_baseline - d.sent
    FROM (SELECT customer_id, sum(sent + unknown) AS sent FROM deleted GROUP BY customer_id) d
   WHERE b.customer_id = d.customer_id AND d.sent > 0;
  PERFORM hot.lower_sent_in_quota(d.customer_id, d.sent) FROM (SELECT customer_id, sum(sent + unknown)::bigint AS sent FROM deleted GROUP BY customer_id) d;
  RETURN NULL;
END $$;
