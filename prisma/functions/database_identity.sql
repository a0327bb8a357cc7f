-- What marks this database's place: numbers that a restored dump does not have. Names of tables are looked up when asked.
CREATE OR REPLACE FUNCTION hot.database_identity() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('.', (SELECT oid FROM pg_database WHERE datname = current_database()),
    'hot.process'::regclass::oid, 'public.customer'::regclass::oid, 'public.setting'::regclass::oid)
$$;
