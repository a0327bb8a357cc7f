-- Messages: files that go along with them, tests of them, and dry runs.
-- A default that is a constant rewrites no row.
ALTER TABLE "campaign" ADD COLUMN "embed_images" BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE "campaign_attachment" (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "uid" TEXT NOT NULL,
    "campaign_id" BIGINT NOT NULL,
    "file_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "is_inline" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "campaign_attachment_pkey" PRIMARY KEY ("customer_id","id")
);

CREATE UNIQUE INDEX "campaign_attachment_customer_id_uid_key" ON "campaign_attachment"("customer_id", "uid");
CREATE UNIQUE INDEX "campaign_attachment_customer_id_campaign_id_name_key" ON "campaign_attachment"("customer_id", "campaign_id", "name");
CREATE INDEX "campaign_attachment_customer_id_file_id_idx" ON "campaign_attachment"("customer_id", "file_id");
CREATE INDEX "campaign_attachment_uid_idx" ON "campaign_attachment"("uid");

ALTER TABLE "campaign_attachment" ADD CONSTRAINT "campaign_attachment_customer_id_campaign_id_fkey" FOREIGN KEY ("customer_id", "campaign_id") REFERENCES "campaign"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The file itself is referred to without a foreign key: it may be deleted, and the campaign then says what it lacks.
-- One that is about to be sent stands back to `new`; one that is under way is paused by whoever composes it next.
CREATE FUNCTION hot.file_was_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.campaign c SET status = 'new', updated_at = now(),
         status_reason = 'The attachment "' || a.name || '" is missing: its file was deleted. Remove it, or attach it again.'
    FROM public.campaign_attachment a
   WHERE a.customer_id = OLD.customer_id AND a.file_id = OLD.id
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.status IN ('ready', 'scheduled');
  -- Whoever has it compiled compiles it anew, and finds the gap.
  UPDATE public.campaign c SET updated_at = now()
    FROM public.campaign_attachment a
   WHERE a.customer_id = OLD.customer_id AND a.file_id = OLD.id
     AND c.customer_id = a.customer_id AND c.id = a.campaign_id AND c.status IN ('queued', 'sending', 'paused');
  RETURN NULL;
END $$;

CREATE TRIGGER file_was_deleted AFTER DELETE ON public.uploaded_file
  FOR EACH ROW EXECUTE FUNCTION hot.file_was_deleted();

CREATE TABLE "test_message" (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "campaign_id" BIGINT NOT NULL,
    "email" TEXT NOT NULL,
    "subscriber_id" BIGINT,
    "is_marked" BOOLEAN NOT NULL DEFAULT true,
    "state" TEXT NOT NULL DEFAULT 'queued',
    "reply" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "test_message_pkey" PRIMARY KEY ("customer_id","id")
);

CREATE INDEX "test_message_customer_id_created_at_idx" ON "test_message"("customer_id", "created_at");
CREATE INDEX "test_message_customer_id_campaign_id_id_idx" ON "test_message"("customer_id", "campaign_id", "id");

ALTER TABLE "test_message" ADD CONSTRAINT "test_message_customer_id_campaign_id_fkey" FOREIGN KEY ("customer_id", "campaign_id") REFERENCES "campaign"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "dry_run" (
    "customer_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "campaign_id" BIGINT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "status_reason" TEXT,
    "cursor" BIGINT NOT NULL DEFAULT 0,
    "total" INTEGER NOT NULL DEFAULT 0,
    "looked_at" INTEGER NOT NULL DEFAULT 0,
    "composed" INTEGER NOT NULL DEFAULT 0,
    "faulty" INTEGER NOT NULL DEFAULT 0,
    "total_bytes" BIGINT NOT NULL DEFAULT 0,
    "largest_bytes" INTEGER NOT NULL DEFAULT 0,
    "work_ms" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "skipped" JSONB NOT NULL DEFAULT '{}',
    "faults" JSONB NOT NULL DEFAULT '[]',
    "campaign_version" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "dry_run_pkey" PRIMARY KEY ("customer_id","id")
);

CREATE INDEX "dry_run_customer_id_campaign_id_id_idx" ON "dry_run"("customer_id", "campaign_id", "id");
-- One at a time.
CREATE UNIQUE INDEX "dry_run_open" ON "dry_run"("customer_id", "campaign_id") WHERE status IN ('queued', 'running');

ALTER TABLE "dry_run" ADD CONSTRAINT "dry_run_customer_id_campaign_id_fkey" FOREIGN KEY ("customer_id", "campaign_id") REFERENCES "campaign"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
