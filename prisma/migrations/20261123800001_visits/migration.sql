-- Opens and clicks as they came, before they are counted. The request is answered when its row here is committed; a
-- follower moves rows on into events and counters within a fraction of a second and deletes them in the same
-- transaction. One row is what one process gathered while its commit before was under way: a few to some hundred
-- visits, as arrays, because a row costs the same whatever it holds. Nobody looks for a visit here: no index but the key.
CREATE TABLE hot.visit (
  id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  written_at     timestamptz NOT NULL DEFAULT now(),
  -- When the oldest and the newest of them came.
  since          timestamptz NOT NULL,
  until          timestamptz NOT NULL,
  size           integer     NOT NULL,
  customer_ids   bigint[]    NOT NULL,
  list_ids       bigint[]    NOT NULL,
  campaign_ids   bigint[]    NOT NULL,
  subscriber_ids bigint[]    NOT NULL,
  -- Null: an open.
  link_nos       integer[]   NOT NULL,
  urls           text[]      NOT NULL,
  are_machines   boolean[]   NOT NULL,
  look_ahead     boolean[]   NOT NULL,
  ips            text[]      NOT NULL,
  user_agents    text[]      NOT NULL,
  countries      text[]      NOT NULL,
  regions        text[]      NOT NULL,
  cities         text[]      NOT NULL,
  -- Milliseconds between the visit and written_at.
  ages           integer[]   NOT NULL
) WITH (
  -- Whole in its page where it fits, and never compressed: it lives for a fraction of a second.
  toast_tuple_target = 8160,
  -- All of it dies: swept by number of dead rows, not by share of a table that is empty most of the time.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE hot.visit
  ALTER urls SET STORAGE EXTERNAL, ALTER user_agents SET STORAGE EXTERNAL, ALTER ips SET STORAGE EXTERNAL,
  ALTER customer_ids SET STORAGE EXTERNAL, ALTER list_ids SET STORAGE EXTERNAL, ALTER campaign_ids SET STORAGE EXTERNAL,
  ALTER subscriber_ids SET STORAGE EXTERNAL, ALTER link_nos SET STORAGE EXTERNAL, ALTER ages SET STORAGE EXTERNAL;
