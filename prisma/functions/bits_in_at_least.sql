-- Who has a bit in at least `wanted` of the rows. Counts for all people of a block at once, in binary: `counts` has one row of
-- bits per digit, and starts so high that it overflows when the number is reached.
CREATE OR REPLACE FUNCTION hot.bits_in_at_least(members bit[], wanted integer) RETURNS bit(2048)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  none    CONSTANT bit(2048) := 0::bit(2048);
  digits  integer := 0;
  counts  bit(2048)[];
  digit   bit(2048);
  carry   bit(2048);
  reached bit(2048) := none;
BEGIN
  IF wanted > cardinality(members) THEN RETURN none; END IF;
  WHILE (1 << digits) < wanted LOOP digits := digits + 1; END LOOP;
  FOR d IN 1..digits LOOP
    counts[d] := CASE WHEN ((1 << digits) - wanted) >> (d - 1) & 1 = 1 THEN ~none ELSE none END;
  END LOOP;
  FOREACH carry IN ARRAY members LOOP
    FOR d IN 1..digits LOOP
      digit := counts[d];
      counts[d] := digit # carry;
      carry := digit & carry;
    END LOOP;
    reached := reached | carry;
  END LOOP;
  RETURN reached;
END $$;
