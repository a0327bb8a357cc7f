-- The send time of a recipient in `zone`, not before `base`: the next time that local clocks there show `local_time` (null: at
-- once), and not between `quiet_from` and `quiet_to` of clocks in `quiet_zone` (null: of `zone`). A local time that is skipped
-- when clocks change becomes the end of the gap; of one that occurs twice it is the second.
CREATE OR REPLACE FUNCTION hot.send_time(
  zone text, base timestamptz, local_time time, quiet_from time, quiet_to time, quiet_zone text)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
  at    timestamptz := base;
  local timestamp;
BEGIN
  IF local_time IS NOT NULL THEN
    at := ((base AT TIME ZONE zone)::date + local_time) AT TIME ZONE zone;
    IF at < base THEN at := ((base AT TIME ZONE zone)::date + 1 + local_time) AT TIME ZONE zone; END IF;
  END IF;
  IF quiet_from IS NULL THEN RETURN at; END IF;
  local := at AT TIME ZONE coalesce(quiet_zone, zone);
  IF quiet_from < quiet_to THEN
    IF local::time < quiet_from OR local::time >= quiet_to THEN RETURN at; END IF;
    RETURN greatest(at, (local::date + quiet_to) AT TIME ZONE coalesce(quiet_zone, zone));
  END IF;
  IF local::time < quiet_from AND local::time >= quiet_to THEN RETURN at; END IF;
  RETURN greatest(at, (local::date + CASE WHEN local::time >= quiet_from THEN 1 ELSE 0 END + quiet_to) AT TIME ZONE coalesce(quiet_zone, zone));
END $$;
