-- Why mails of a flow do not go now: null, they do. A flow that is deleted, or whose customer is disabled, sends nothing more; one that is stopped may
-- go on.
CREATE OR REPLACE FUNCTION hot.flow_denial(customer bigint, flow bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN found.status IS NULL OR found.customer_status <> 'active' THEN 'source_deleted' WHEN found.status <> 'active' THEN 'flow_stopped' END
    FROM (SELECT 1) one
    LEFT JOIN (SELECT a.status, u.status AS customer_status FROM public.automation a JOIN public.customer u ON u.id = a.customer_id
                WHERE a.customer_id = customer AND a.id = flow) found ON true
$$;
