-- Since when jobs have found the follower too far behind: it is cut off an hour later, so that it can catch up after a hold or an
-- outage.
ALTER TABLE hot.event_follower ADD COLUMN behind_since timestamptz;
