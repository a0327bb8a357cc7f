-- Uploaded files: their bytes lie in the database, in pieces, so that every process can serve them and no path of any
-- disk is made of what somebody typed. There were none before.
ALTER TABLE "uploaded_file"
  ADD COLUMN "token" TEXT NOT NULL,
  ADD COLUMN "name" TEXT NOT NULL,
  ADD COLUMN "status" TEXT NOT NULL DEFAULT 'uploading',
  ALTER COLUMN "content_type" SET DEFAULT 'application/octet-stream',
  ALTER COLUMN "size_bytes" SET DEFAULT 0;

CREATE UNIQUE INDEX "uploaded_file_token_key" ON "uploaded_file"("token");
CREATE INDEX "uploaded_file_uid_idx" ON "uploaded_file"("uid");

CREATE TABLE "file_piece" (
    "customer_id" BIGINT NOT NULL,
    "file_id" BIGINT NOT NULL,
    "no" INTEGER NOT NULL,
    "bytes" BYTEA NOT NULL,

    CONSTRAINT "file_piece_pkey" PRIMARY KEY ("customer_id","file_id","no")
);

ALTER TABLE "file_piece" ADD CONSTRAINT "file_piece_customer_id_file_id_fkey" FOREIGN KEY ("customer_id", "file_id") REFERENCES "uploaded_file"("customer_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Images are packed already: packing them again costs time and saves nothing.
ALTER TABLE "file_piece" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;
