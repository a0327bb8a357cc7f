CREATE OR REPLACE FUNCTION hot.content_lock(campaign bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended('mailwright:content:' || campaign, 0);
