-- How often people opened and clicked a campaign, and who clicked which of its links, as bits (0371): "at least three
-- opens" and "clicked a link that contains" read some thousand rows then, where they read one row a person and campaign.
-- Opens and clicks do not write these rows. A job makes them (refresh-counts.ts) from the rows of the people, at most
-- once a day and campaign. Nothing is filled here: the job makes them in the minutes after the start, and until then
-- segments read the rows of the people.

-- How often, in binary: `members` are the people in whose number this digit (0 is the ones, 1 the twos, ...) is 1.
-- Digits that nobody of the block has are no rows.
CREATE TABLE hot.campaign_count_block (
  customer_id bigint    NOT NULL,
  campaign_id bigint    NOT NULL,
  -- opens, clicks, human_opens, human_clicks
  kind        text      NOT NULL,
  block       bigint    NOT NULL,
  digit       smallint  NOT NULL,
  members     bit(2048) NOT NULL DEFAULT 0::bit(2048),
  PRIMARY KEY (customer_id, campaign_id, kind, block, digit)
);

CREATE TABLE hot.campaign_link_block (
  customer_id bigint    NOT NULL,
  campaign_id bigint    NOT NULL,
  link_no     integer   NOT NULL,
  block       bigint    NOT NULL,
  members     bit(2048) NOT NULL DEFAULT 0::bit(2048),
  PRIMARY KEY (customer_id, campaign_id, link_no, block)
);

-- The campaigns that have such rows. They are believed for blocks of hot.campaign_activity_block where nothing has
-- happened on this day (UTC) or since: last_on < counted_on. Of the others the rows of the people are read.
CREATE TABLE hot.counted_campaign (
  customer_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  counted_on  date   NOT NULL,
  PRIMARY KEY (customer_id, campaign_id)
);

-- Adds numbers for all people of a block at once, and says whose sum reaches `wanted`. Each of the numbers comes as its
-- binary digits: a row of `members` with its place in `digits`. The sum begins so high that it overflows when `wanted` is
-- reached.
CREATE FUNCTION hot.bits_that_reach(members bit[], digits smallint[], wanted integer) RETURNS bit(2048)
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

-- With its campaign this goes at once; the blocks are erased with all else that the campaign has gathered (0322).
CREATE FUNCTION hot.erase_counted_campaigns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hot.counted_campaign k USING deleted d WHERE k.customer_id = d.customer_id AND k.campaign_id = d.id;
  RETURN NULL;
END $$;

CREATE TRIGGER erase_counted_campaigns AFTER DELETE ON public.campaign
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_counted_campaigns();
