-- Campaigns that wait to be sent and lose an attached file become `new` again. Part of
-- src/domain/campaigns/campaign-state-store.ts.
CREATE OR REPLACE FUNCTION hot.reopen_campaigns_without_file(customer bigint, file bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE public.campaign c SET status = 'new', updated_at = now(), reason_code = 'attachment_missing', reason_params = jsonb_build_object('name', a.name)
    FROM public.campaign_attachment a
   WHERE a.customer_id = customer AND a.file_id = file
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.status IN ('ready', 'scheduled');
$$;
