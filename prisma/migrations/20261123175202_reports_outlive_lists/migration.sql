-- DropForeignKey
ALTER TABLE "campaign" DROP CONSTRAINT "campaign_customer_id_list_id_fkey";

-- AlterTable
ALTER TABLE "campaign" ADD COLUMN     "list_name" TEXT,
ADD COLUMN     "list_uid" TEXT;

-- EXECUTE, so that each statement is planned for its ids: where one customer has nearly all rows, a generic plan reads whole
-- tables to delete an empty list.
CREATE OR REPLACE FUNCTION hot.erase_lists() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.deletion (customer_id, is_list, target_id, uid, name, total)
  SELECT d.customer_id, true, d.id, d.uid, d.name, coalesce(c.subscribed + c.unsubscribed + c.unconfirmed + c.pending, 0)
    FROM deleted d LEFT JOIN hot.list_counter c ON c.customer_id = d.customer_id AND c.list_id = d.id;
  DELETE FROM hot.subscriber_block b USING deleted d WHERE b.customer_id = d.customer_id AND b.list_id = d.id;
  DELETE FROM hot.list_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id;
  -- Campaigns that have not begun go with their list; the reports of the others stay, with its name.
  DELETE FROM campaign c USING deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id AND c.snapshot_on IS NULL;
  UPDATE campaign c SET list_uid = d.uid, list_name = d.name
    FROM deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id;
  RETURN NULL;
END $$;

-- Campaigns that have not begun go with their list; the others stay with its name.
CREATE OR REPLACE FUNCTION hot.erase_lists() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hot.deletion (customer_id, is_list, target_id, uid, name, total)
  SELECT d.customer_id, true, d.id, d.uid, d.name, coalesce(c.subscribed + c.unsubscribed + c.unconfirmed + c.pending, 0)
    FROM deleted d LEFT JOIN hot.list_counter c ON c.customer_id = d.customer_id AND c.list_id = d.id;
  DELETE FROM hot.subscriber_block b USING deleted d WHERE b.customer_id = d.customer_id AND b.list_id = d.id;
  DELETE FROM hot.list_counter c USING deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id;
  -- Campaigns that have not begun go with their list; the reports of the others stay, with its name.
  DELETE FROM campaign c USING deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id AND c.snapshot_on IS NULL;
  UPDATE campaign c SET list_uid = d.uid, list_name = d.name
    FROM deleted d WHERE c.customer_id = d.customer_id AND c.list_id = d.id;
  RETURN NULL;
END $$;
