-- When the vendor first said that it does not know the subscription: with other keys it may be there.
ALTER TABLE remote_subscription ADD COLUMN gone_said_at TIMESTAMPTZ(3);
