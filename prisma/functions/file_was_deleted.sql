-- The file itself is referred to without a foreign key: it may be deleted, and the campaign then says what it lacks.
-- One that is about to be sent stands back to `new`; one that is under way is paused by whoever composes it next.
CREATE OR REPLACE FUNCTION hot.file_was_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hot.reopen_campaigns_without_file(OLD.customer_id, OLD.id);
  -- Whoever has it compiled compiles it anew, and finds the gap.
  UPDATE public.campaign c SET updated_at = now()
    FROM public.campaign_attachment a
   WHERE a.customer_id = OLD.customer_id AND a.file_id = OLD.id
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.status IN ('queued', 'sending', 'paused');
  RETURN NULL;
END $$;
