-- What was taken and has ended leaves dead entries in the index of those that are taken until the next vacuum. A bitmap scan visits
-- all of them again each time; an index scan marks them, and passes over them from then on.
ALTER FUNCTION hot.take_webhooks(uuid, interval, text[], integer[], integer, integer, bigint[], integer[], integer) SET enable_bitmapscan = off;
