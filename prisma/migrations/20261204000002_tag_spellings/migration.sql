-- How tags are spelt on each list, beside the tag as it is compared (hot.fold). A rule asks which spellings are meant,
-- once, and then compares the tags of each person as they are; it used to fold all tags of everybody. A spelling that
-- nobody has any more stays: it finds nobody.
CREATE TABLE hot.tag_spelling (
  customer_id bigint NOT NULL,
  list_id     bigint NOT NULL,
  key         text   NOT NULL,
  tag         text   NOT NULL,
  PRIMARY KEY (customer_id, list_id, key, tag)
);

-- For the rows of `subscriber` however they are written.
CREATE FUNCTION hot.keep_tag_spellings() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER keep_tags_inserted AFTER INSERT ON public.subscriber
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_tag_spellings();
CREATE TRIGGER keep_tags_updated AFTER UPDATE ON public.subscriber
  REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION hot.keep_tag_spellings();

INSERT INTO hot.tag_spelling (customer_id, list_id, key, tag)
SELECT customer_id, list_id, hot.fold(tag), tag
  FROM (SELECT DISTINCT s.customer_id, s.list_id, t.tag FROM public.subscriber s CROSS JOIN unnest(s.tags) AS t (tag) WHERE s.tags <> '{}') u;

-- With their list these go, and what is kept of its people in blocks.
CREATE FUNCTION hot.erase_list_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gone  record;
  child text;
BEGIN
  FOR gone IN SELECT customer_id, array_agg(id) AS ids FROM deleted GROUP BY customer_id LOOP
    FOREACH child IN ARRAY ARRAY['list_activity_block', 'tag_spelling'] LOOP
      EXECUTE format('DELETE FROM hot.%I WHERE customer_id = $1 AND list_id = ANY ($2)', child) USING gone.customer_id, gone.ids;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;

CREATE TRIGGER erase_list_blocks AFTER DELETE ON public.mail_list
  REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION hot.erase_list_blocks();
