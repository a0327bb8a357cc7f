-- An attachment has no foreign key to its file: the file may be deleted, and the campaign then says what is missing. A campaign
-- that waits to be sent becomes `new` again; one under way is paused by the worker that composes its next message.
CREATE OR REPLACE FUNCTION hot.file_was_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hot.reopen_campaigns_without_file(OLD.customer_id, OLD.id);
  -- Processes that have compiled it compile it again, and find that the file is missing.
  UPDATE public.campaign c SET updated_at = now()
    FROM public.campaign_attachment a
   WHERE a.customer_id = OLD.customer_id AND a.file_id = OLD.id
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.status IN ('queued', 'sending', 'paused');
  RETURN NULL;
END $$;
