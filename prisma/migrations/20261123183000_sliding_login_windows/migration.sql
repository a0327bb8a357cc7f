-- Failed logins, codes and requested mails count over sliding windows (hot.slide_window); requests keep windows that begin with the first.
ALTER TABLE hot.rate_window
  -- How many there had been in all at these times; empty for requests.
  ADD COLUMN times  timestamptz[] NOT NULL DEFAULT '{}',
  ADD COLUMN totals bigint[]      NOT NULL DEFAULT '{}';

-- What is counted already counts as of now: a limit is not lifted by an upgrade.
UPDATE hot.rate_window SET times = ARRAY[now(), now()], totals = ARRAY[0, used] WHERE ends_at > now();
