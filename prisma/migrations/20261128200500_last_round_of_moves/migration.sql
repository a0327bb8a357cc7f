-- When the last round had looked for those who were on the way into an earlier version meanwhile; null: it has not.
ALTER TABLE "automation_version" ADD COLUMN "moves_ended_at" TIMESTAMPTZ(3);
UPDATE "automation_version" SET "moves_ended_at" = "moved_at" WHERE "moved_at" IS NOT NULL;
