-- AlterTable
ALTER TABLE "mail_list" ADD COLUMN     "signup_captcha" TEXT NOT NULL DEFAULT 'flood';

ALTER TABLE "mail_list" ADD CONSTRAINT "mail_list_signup_captcha_check" CHECK ("signup_captcha" IN ('never', 'flood', 'always'));
