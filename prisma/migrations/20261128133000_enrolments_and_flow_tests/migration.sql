-- Letting people in who match an automation already (D71): what was asked for, and how far it is.
CREATE TABLE automation_enrolment (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "automation_id" BIGINT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'running',
    "reason" TEXT,
    "rule" JSONB NOT NULL,
    "segment_uid" TEXT,
    "without_triggers" BOOLEAN NOT NULL,
    "confirmed" INTEGER NOT NULL,
    "entered_max" INTEGER NOT NULL,
    "per_hour" INTEGER NOT NULL,
    "matching" INTEGER NOT NULL,
    "up_to" BIGINT NOT NULL,
    "cursor" BIGINT NOT NULL DEFAULT 0,
    "entered" INTEGER NOT NULL DEFAULT 0,
    "refused" JSONB NOT NULL DEFAULT '{}',
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "automation_enrolment_pkey" PRIMARY KEY ("customer_id","id")
);

CREATE INDEX "automation_enrolment_customer_id_automation_id_id_idx" ON "automation_enrolment"("customer_id", "automation_id", "id");

-- One at a time for each automation.
CREATE UNIQUE INDEX "automation_enrolment_running" ON "automation_enrolment"("customer_id", "automation_id") WHERE status = 'running';

ALTER TABLE "automation_enrolment" ADD CONSTRAINT "automation_enrolment_customer_id_automation_id_fkey" FOREIGN KEY ("customer_id", "automation_id") REFERENCES "automation"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A live test of a flow (D91): one way through it, with mails to one address. It stands apart from runs, so it counts nowhere.
CREATE TABLE automation_test (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "automation_id" BIGINT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'running',
    "reason" TEXT,
    "version" INTEGER,
    "draft_version" INTEGER,
    "flow" JSONB NOT NULL,
    "email" TEXT NOT NULL,
    "subscriber_id" BIGINT,
    "payload" JSONB,
    "ports" JSONB NOT NULL,
    "wait_seconds" INTEGER NOT NULL,
    "is_marked" BOOLEAN NOT NULL,
    "position" JSONB NOT NULL,
    "steps" JSONB NOT NULL DEFAULT '[]',
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "automation_test_pkey" PRIMARY KEY ("customer_id","id")
);

CREATE INDEX "automation_test_customer_id_automation_id_id_idx" ON "automation_test"("customer_id", "automation_id", "id");

-- Old ones are deleted.
CREATE INDEX "automation_test_created_at_idx" ON "automation_test"("created_at");

ALTER TABLE "automation_test" ADD CONSTRAINT "automation_test_customer_id_automation_id_fkey" FOREIGN KEY ("customer_id", "automation_id") REFERENCES "automation"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
