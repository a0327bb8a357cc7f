-- Why somebody unsubscribed, why a dry run ended and why a test was not sent are codes, too (0381).
UPDATE hot.unsubscribe_event SET reason = CASE reason
         WHEN 'I get too many messages' THEN 'too_many' WHEN 'They are not relevant to me' THEN 'not_relevant'
         WHEN 'I never signed up' THEN 'never_signed_up' ELSE 'other' END
 WHERE reason IN ('I get too many messages', 'They are not relevant to me', 'I never signed up', 'Another reason');

-- What old dry runs ended for is not taken over.
ALTER TABLE "dry_run" DROP COLUMN "status_reason";
ALTER TABLE "dry_run" ADD COLUMN "reason_code" TEXT;
ALTER TABLE "dry_run" ADD COLUMN "reason_params" JSONB;

ALTER TABLE "test_message" ADD COLUMN "reason" TEXT;
