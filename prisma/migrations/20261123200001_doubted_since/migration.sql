-- Since when nobody knows whether somebody got the message: a vendor that knows messages again by a key does so for a
-- limited time only. Null for almost everybody; adding it rewrites nothing.
ALTER TABLE hot.delivery ADD COLUMN doubted_since timestamptz;
