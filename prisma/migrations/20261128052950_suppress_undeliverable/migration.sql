-- AlterTable
ALTER TABLE "mail_list_import" ADD COLUMN     "verify_suppresses" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "verification" ADD COLUMN     "suppressed" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "suppresses" BOOLEAN NOT NULL DEFAULT false;
