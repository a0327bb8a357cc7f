-- A date or time in a field's value; null: there is none. A day up to the 28th in a usual spelling is recognised by its shape and
-- four comparisons, everything else by the pattern.
CREATE OR REPLACE FUNCTION hot.time_of(text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN translate($1, '123456789', '000000000') = ANY
         ('{0000-00-00,0000-00-00 00:00:00,0000-00-00T00:00:00Z,0000-00-00T00:00:00.000Z}'::text[])
     AND substr($1, 1, 7) COLLATE "C" > '0001' AND substr($1, 6, 2) COLLATE "C" BETWEEN '01' AND '12'
     AND substr($1, 9, 2) COLLATE "C" BETWEEN '01' AND '28'
     AND (octet_length($1) = 10 OR (substr($1, 12, 2) COLLATE "C" < '24' AND substr($1, 15, 1) COLLATE "C" < '6' AND substr($1, 18, 1) COLLATE "C" < '6'))
    THEN $1::timestamptz
    WHEN octet_length($1) < 50 AND left($1, 4) <> '0000' AND $1 ~ ('^(?:'
      '[0-9][0-9][0-9][0-9]-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])'
      '|[0-9][0-9][0-9][0-9]-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)'
      '|[0-9][0-9][0-9][0-9]-02-(?:0[1-9]|1[0-9]|2[0-8])'
      '|(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
      '(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.][0-9]+)?)?'
      '(?: ?(?:[Zz]|[Uu][Tt][Cc]|[+-](?:0[0-9]|1[0-5]):?[0-5][0-9]))?)?$') COLLATE "C" THEN $1::timestamptz
  END
$$;
