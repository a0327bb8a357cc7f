-- The event that brought the person in, if one did: goals and exits count what was recorded after it and happened at its time or later.
ALTER TABLE hot.flow_run ADD COLUMN event_id bigint;
ALTER TABLE hot.flow_run ADD COLUMN event_at timestamptz;
