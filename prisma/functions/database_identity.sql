-- Numbers that identify this database: a restored dump has others.
CREATE OR REPLACE FUNCTION hot.database_identity() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('.', (SELECT oid FROM pg_database WHERE datname = current_database()),
    'hot.process'::regclass::oid, 'public.customer'::regclass::oid, 'public.setting'::regclass::oid)
$$;
