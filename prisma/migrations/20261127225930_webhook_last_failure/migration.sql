-- AlterTable
ALTER TABLE "webhook" ADD COLUMN     "last_failed_at" TIMESTAMPTZ(3);
