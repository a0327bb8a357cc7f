-- A number in a field's value; null: there is none. Nearly all values are recognised without a pattern. The patterns for the rest
-- have no bounded repeats ({1,30}): PostgreSQL matches such simple patterns much faster.
CREATE OR REPLACE FUNCTION hot.number_of(text) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN translate($1, '0123456789', '') = '' AND octet_length($1) BETWEEN 1 AND 30 THEN $1::numeric
    WHEN octet_length($1) < 70 AND $1 ~ '^[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9][0-9]?[0-9]?)?$' COLLATE "C" THEN $1::numeric
  END
$$;
