-- A count over a sliding window. `totals[n]` is how many there had been in all at `times[n]`; the first pair stands for all before
-- the window. Adds the total of now, and drops what left the window: `total - totals[1]` is how many the window holds. Of each
-- sixtieth of the window's length only the latest time is kept, so something leaves a sixtieth late at most, and never early.
-- Months and years are counted by the calendar, in UTC; `at - length` and not `time + length`, so that no stretch of a calendar
-- month holds more, the end of January and February included.
CREATE OR REPLACE FUNCTION hot.slide_window(INOUT times timestamptz[], INOUT totals bigint[], total bigint, at timestamptz, length interval)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  last  integer := cardinality(times);
  first integer;
  slot  numeric := extract(epoch FROM length) / 60;
BEGIN
  IF last = 0 THEN
    times := ARRAY[at];
    totals := ARRAY[total];
    RETURN;
  END IF;
  -- A clock that was set back makes nothing older.
  at := greatest(at, times[last]);
  first := greatest(1, width_bucket((at AT TIME ZONE 'UTC' - length) AT TIME ZONE 'UTC', times));
  IF first > 1 THEN
    times := times[first:];
    totals := totals[first:];
    last := last - first + 1;
  END IF;
  IF total = totals[last] THEN RETURN; END IF;
  IF last = 1 OR floor(extract(epoch FROM times[last]) / slot) < floor(extract(epoch FROM at) / slot) THEN last := last + 1; END IF;
  times[last] := at;
  totals[last] := total;
  -- Only a window that was made longer has so many: two of them become one, which leaves with the later.
  IF last > 120 THEN
    times := times[1:1] || times[3:];
    totals := totals[1:1] || totals[3:];
  END IF;
END $$;
