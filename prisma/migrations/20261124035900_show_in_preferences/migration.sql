-- AlterTable
ALTER TABLE "mail_list" ADD COLUMN     "show_in_preferences" BOOLEAN NOT NULL DEFAULT false;
