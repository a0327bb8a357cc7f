-- A sending server's number of connections grows by itself, up to its largest number.
CREATE TABLE hot.sending_connections (
  server_id     bigint      NOT NULL,
  -- Over all processes.
  connections   integer     NOT NULL,
  -- More were too many, or sent no more; until held_until the number stays at or below it.
  ceiling       integer,
  held_until    timestamptz,
  hold_ms       integer     NOT NULL,
  -- The process that raises the number; any may lower it. Free again when it has not said for some seconds that it sends.
  decider       uuid,
  decider_until timestamptz NOT NULL DEFAULT now(),
  -- Counts changes of the number: a process that does not know the latest changes nothing.
  version       integer     NOT NULL DEFAULT 0,
  PRIMARY KEY (server_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE hot.sending_connections IS 'How many connections a sending server has now, over all processes. It grows while more connections send more, and is halved when the server shows that they are too many.';

CREATE OR REPLACE FUNCTION hot.erase_servers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.sending_health h USING deleted d WHERE h.server_id = d.id;
  DELETE FROM hot.sending_connections c USING deleted d WHERE c.server_id = d.id;
  DELETE FROM hot.warm_up_day w USING deleted d WHERE w.server_id = d.id;
  RETURN NULL;
END $$;

-- The number grows with the bundled driver only; others keep theirs. Where the settings say nothing, the number was the default
-- of before. Else somebody may have wanted it: it stays as the largest.
ALTER TABLE public.sending_server ALTER COLUMN connections_max SET DEFAULT 20;
UPDATE public.sending_server SET connections_max = 20 WHERE type = 'smtp' AND connections_max = 5 AND NOT settings ? 'connections';
UPDATE public.sending_server
   SET settings = (settings - 'connections') || jsonb_build_object('max_connections', settings -> 'connections')
 WHERE type = 'smtp' AND settings ? 'connections' AND NOT settings ? 'max_connections';
