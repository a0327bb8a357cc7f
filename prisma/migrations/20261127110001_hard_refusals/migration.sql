-- A campaign that was paused because its server says of too many that nobody is there: what it said is `held` until somebody
-- resumes, and `believed` from then on.
ALTER TABLE "campaign" ADD COLUMN "hard_refusals" TEXT;
