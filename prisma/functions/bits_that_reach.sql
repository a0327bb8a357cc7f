-- Adds numbers for all people of a block at once, and returns whose sum reaches `wanted`. Each number comes as its binary digits:
-- a row of `members` with its position in `digits`. The sum starts so high that it overflows when `wanted` is reached.
CREATE OR REPLACE FUNCTION hot.bits_that_reach(members bit[], digits smallint[], wanted integer) RETURNS bit(2048)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  none    CONSTANT bit(2048) := 0::bit(2048);
  places  integer := 0;
  start   bigint;
  sums    bit(2048)[];
  sum     bit(2048);
  carry   bit(2048);
  reached bit(2048) := none;
BEGIN
  WHILE (1::bigint << places) < wanted LOOP places := places + 1; END LOOP;
  start := (1::bigint << places) - wanted;
  FOR p IN 1..places LOOP
    sums[p] := CASE WHEN start >> (p - 1) & 1 = 1 THEN ~none ELSE none END;
  END LOOP;
  FOR i IN 1..cardinality(members) LOOP
    carry := members[i];
    FOR p IN digits[i] + 1..places LOOP
      sum := sums[p];
      sums[p] := sum # carry;
      carry := sum & carry;
    END LOOP;
    reached := reached | carry;
  END LOOP;
  RETURN reached;
END $$;
