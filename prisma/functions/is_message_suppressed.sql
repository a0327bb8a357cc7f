-- Whether a message of this kind must not go to the address: suppressed by the customer or the installation. Only a complaint lets
-- one kind pass: `security` (decision D94).
CREATE OR REPLACE FUNCTION hot.is_message_suppressed(customer bigint, key text, kind text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM public.suppression x
                  WHERE x.customer_id IN (0, customer) AND x.email_key = key AND NOT (kind = 'security' AND x.reason = 'complaint'))
$$;
