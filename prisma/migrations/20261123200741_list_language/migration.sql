-- AlterTable
ALTER TABLE "mail_list" ADD COLUMN     "language" TEXT;
