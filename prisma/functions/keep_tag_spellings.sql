-- For rows of `subscriber`, whichever statement writes them.
CREATE OR REPLACE FUNCTION hot.keep_tag_spellings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.tag_spelling (customer_id, list_id, key, tag)
  SELECT u.customer_id, u.list_id, hot.fold(u.tag), u.tag
    FROM (SELECT DISTINCT w.customer_id, w.list_id, t.tag FROM written w CROSS JOIN unnest(w.tags) AS t (tag) WHERE w.tags <> '{}') u
   WHERE NOT EXISTS (SELECT 1 FROM hot.tag_spelling k
                      WHERE k.customer_id = u.customer_id AND k.list_id = u.list_id AND k.key = hot.fold(u.tag) AND k.tag = u.tag)
   ORDER BY 1, 2, 3, 4
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
