-- Why a campaign has its status, and what it waits for, are codes with parameters; their texts are made where they are shown (0381).
ALTER TABLE "campaign" ADD COLUMN "reason_code" TEXT;
ALTER TABLE "campaign" ADD COLUMN "reason_params" JSONB;
ALTER TABLE "campaign" ADD COLUMN "wait_kind" TEXT;
ALTER TABLE "campaign" RENAME COLUMN "waits_until" TO "wait_until";

-- A campaign that waits is asked again within half a minute what for, and waits on. Sentences of before are not taken over.
UPDATE "campaign" SET "wait_kind" = 'budget_in_use', "wait_until" = least("wait_until", now() + interval '30 seconds')
 WHERE "wait_until" IS NOT NULL AND "status" = 'sending';
UPDATE "campaign" SET "wait_until" = NULL WHERE "status" <> 'sending' AND "wait_until" IS NOT NULL;
ALTER TABLE "campaign" DROP COLUMN "status_reason";

ALTER TABLE "campaign" ADD CONSTRAINT "campaign_status" CHECK ("status" IN ('new', 'ready', 'scheduled', 'queued', 'sending', 'paused', 'done', 'error'));
ALTER TABLE "campaign" ADD CONSTRAINT "campaign_wait" CHECK (CASE WHEN "wait_kind" IS NULL THEN "wait_until" IS NULL ELSE "status" = 'sending' END);

-- Campaigns that are about to be sent and lose an attached file are `new` again. Part of src/domain/campaigns/campaign-state.ts.
CREATE FUNCTION hot.reopen_campaigns_without_file(customer bigint, file bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE public.campaign c SET status = 'new', updated_at = now(), reason_code = 'attachment_missing', reason_params = jsonb_build_object('name', a.name)
    FROM public.campaign_attachment a
   WHERE a.customer_id = customer AND a.file_id = file
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.status IN ('ready', 'scheduled');
$$;

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
