-- The processes of the installation, each with its latest sign of life: what operators see, and how a database knows when
-- it was last worked with (a restored backup was not worked with for a while, and lies somewhere else).
CREATE TABLE hot.process (
  id         uuid           PRIMARY KEY,
  host       text           NOT NULL,
  pid        integer        NOT NULL,
  roles      text[]         NOT NULL,
  version    text           NOT NULL,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  seen_at    timestamptz(3) NOT NULL DEFAULT now(),
  memory_mb  integer        NOT NULL,
  is_working boolean        NOT NULL
) WITH (fillfactor = 50);

-- What marks this database's place: numbers that a restored dump does not have. Names of tables are looked up when asked.
CREATE FUNCTION hot.place_marks() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('.', (SELECT oid FROM pg_database WHERE datname = current_database()),
    'hot.process'::regclass::oid, 'public.customer'::regclass::oid, 'public.setting'::regclass::oid)
$$;

-- Written to and undone when a disk was full: to see whether there is room again.
CREATE UNLOGGED TABLE hot.disk_probe (filler bytea NOT NULL);
ALTER TABLE hot.disk_probe ALTER COLUMN filler SET STORAGE EXTERNAL;
