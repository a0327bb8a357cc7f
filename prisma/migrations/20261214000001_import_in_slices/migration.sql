-- An import is written in slices, one after the other: where the next one begins says everything that a restart must know.
-- One that was running had stretches written in any order; it cannot go on. One that is only queued has written nothing and begins as planned.
UPDATE "mail_list_import" SET "status" = 'failed', "finished_at" = now(),
       "error" = 'The import was stopped by an upgrade. What was read so far is on the list; import the file again for the rest.'
 WHERE "status" = 'running';
ALTER TABLE "mail_list_import" DROP COLUMN "done", DROP COLUMN "begins_at";
ALTER TABLE "mail_list_import" RENAME COLUMN "begins_line" TO "lines_processed";
DELETE FROM "import_chunk" c USING "mail_list_import" i
 WHERE i."customer_id" = c."customer_id" AND i."id" = c."import_id" AND i."status" = 'failed';
