-- AlterTable
ALTER TABLE "campaign" ADD COLUMN     "preheader" TEXT NOT NULL DEFAULT '';
