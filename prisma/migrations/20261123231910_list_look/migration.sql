-- AlterTable
ALTER TABLE "mail_list" ADD COLUMN     "color" TEXT,
ADD COLUMN     "logo" TEXT;

ALTER TABLE "mail_list" ADD CONSTRAINT "mail_list_color_check" CHECK ("color" ~ '^#[0-9a-f]{6}$');
