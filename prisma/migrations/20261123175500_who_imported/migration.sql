-- AlterTable
ALTER TABLE "mail_list_import" ADD COLUMN     "imported_by" BIGINT;
