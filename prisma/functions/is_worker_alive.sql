-- Whether the worker process with this id runs: it holds an advisory lock in its name as long as it runs.
CREATE OR REPLACE FUNCTION hot.is_worker_alive(worker uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT 1 FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.objsubid = 1
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(worker::text, 0))
$$;
