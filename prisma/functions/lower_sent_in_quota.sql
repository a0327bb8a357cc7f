-- The ledger's counters say so many fewer as sent; what was sent in the quota's window stays counted.
CREATE OR REPLACE FUNCTION hot.lower_sent_in_quota(customer bigint, fewer bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE hot.send_budget b SET quota_totals = ARRAY(SELECT t.total - fewer FROM unnest(b.quota_totals) WITH ORDINALITY AS t(total, no) ORDER BY t.no)
   WHERE b.customer_id = customer AND fewer > 0 AND cardinality(b.quota_totals) > 0
$$;
