-- A deletion whose erasing failed is not tried again before this time, so that it does not hold up the later ones.
ALTER TABLE hot.deletion ADD COLUMN next_try_at timestamptz NOT NULL DEFAULT now();
