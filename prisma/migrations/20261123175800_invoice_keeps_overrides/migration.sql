-- A change of plan may carry the own end and options of a subscription to the new plan; its invoice remembers it until it is paid.
ALTER TABLE "invoice" ADD COLUMN "keeps_overrides" BOOLEAN NOT NULL DEFAULT false;
