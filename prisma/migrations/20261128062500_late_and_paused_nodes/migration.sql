-- What was chosen for runs that were late when the flow went on (D85): those that were due at `late_until` or before. Null: nothing is left of it.
ALTER TABLE hot.flow_node
  ADD COLUMN late_mode  text,
  ADD COLUMN late_until timestamptz,
  -- When the flow went on, and the hours over which they are spread.
  ADD COLUMN late_from  timestamptz,
  ADD COLUMN late_hours integer,
  -- How many they were, and for how many it was done.
  ADD COLUMN late_total bigint NOT NULL DEFAULT 0,
  ADD COLUMN late_done  bigint NOT NULL DEFAULT 0,
  -- Runs that were moved, and of these parked, in the hour that began then (D87).
  ADD COLUMN hour_from   timestamptz,
  ADD COLUMN hour_moved  bigint NOT NULL DEFAULT 0,
  ADD COLUMN hour_parked bigint NOT NULL DEFAULT 0,
  -- Too many were parked: nobody is moved until somebody has looked at it.
  ADD COLUMN paused_at timestamptz;

-- The person has entered the flow too often within a day, and enters no more until the flow is activated again (D83).
ALTER TABLE hot.flow_entry ADD COLUMN blocked_at timestamptz;
CREATE INDEX flow_entry_blocked ON hot.flow_entry (customer_id, automation_id, person_id) WHERE blocked_at IS NOT NULL;
