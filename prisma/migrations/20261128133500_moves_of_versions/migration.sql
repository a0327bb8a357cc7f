-- Where people of earlier versions go, by the ids of their nodes; null: they finish on theirs (D84).
ALTER TABLE "automation_version" ADD COLUMN "moves" JSONB;
-- Whether those who are parked go, too.
ALTER TABLE "automation_version" ADD COLUMN "move_parked" BOOLEAN NOT NULL DEFAULT true;
-- When everybody had been moved; null: they are being moved, or nobody is.
ALTER TABLE "automation_version" ADD COLUMN "moved_at" TIMESTAMPTZ(3);

-- Nodes of the version whose work was done for the person before they came to it: passed over once.
ALTER TABLE hot.flow_run ADD COLUMN done jsonb;
-- In which version the last run ended; null: before this was kept.
ALTER TABLE hot.flow_entry ADD COLUMN ended_version integer;
