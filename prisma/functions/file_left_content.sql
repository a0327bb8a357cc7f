-- An attached file is part of a campaign's content.
CREATE OR REPLACE FUNCTION hot.file_left_content() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.campaign c SET content_version = c.content_version + 1
    FROM public.campaign_attachment a
   WHERE a.customer_id = OLD.customer_id AND a.file_id = OLD.id
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id;
  RETURN NULL;
END $$;
