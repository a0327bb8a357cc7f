-- Up to three different links of both.
CREATE OR REPLACE FUNCTION hot.some_links(a integer[], b integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT DISTINCT unnest(coalesce(a, '{}') || coalesce(b, '{}')) LIMIT 3)
$$;
