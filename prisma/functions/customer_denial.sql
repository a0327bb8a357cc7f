-- Why mails of a customer do not go: null, they do. One that is disabled or being deleted sends nothing more.
CREATE OR REPLACE FUNCTION hot.customer_denial(customer bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM public.customer u WHERE u.id = customer AND u.status = 'active') THEN 'source_deleted' END
$$;
