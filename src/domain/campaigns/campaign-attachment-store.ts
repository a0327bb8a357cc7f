/** Writes of what is attached to campaigns. */
import { sql, type Queryable } from '../../db/database.ts';
import { isUid, newUid } from '../../lib/ids.ts';
import type { Campaign } from './campaign.ts';

interface NewAttachment {
  readonly campaign: Pick<Campaign, 'customerId' | 'id'>;
  readonly fileId: bigint;
  readonly name: string;
  readonly isInline: boolean;
}

/** Writes the attachment; one of the same name is replaced. */
export async function putAttachment(db: Queryable, { campaign, fileId, name, isInline }: NewAttachment): Promise<void> {
  await db.execute(sql`
    INSERT INTO campaign_attachment AS a (customer_id, uid, campaign_id, file_id, name, is_inline)
    VALUES (${campaign.customerId}, ${newUid()}, ${campaign.id}, ${fileId}, ${name}, ${isInline})
    ON CONFLICT (customer_id, campaign_id, name) DO UPDATE SET file_id = excluded.file_id, is_inline = excluded.is_inline`);
}

/** Deletes it; false when the campaign has none with this uid. */
export async function deleteAttachment(
  db: Queryable,
  { customerId, id }: Pick<Campaign, 'customerId' | 'id'>,
  uid: string,
): Promise<boolean> {
  if (!isUid(uid)) return false;
  const deleted = await db.execute(
    sql`DELETE FROM campaign_attachment WHERE customer_id = ${customerId} AND campaign_id = ${id} AND uid = ${uid}`,
  );
  return deleted > 0;
}
