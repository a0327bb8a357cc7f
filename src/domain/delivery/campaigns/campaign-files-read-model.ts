/** Reads campaigns' attachments and the files that their html shows. */
import { sql, row, type Queryable, type RowOf } from '../../../db/database.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';

/** An attachment of a campaign and the file behind it; null: it was deleted. */
export interface Attachment {
  readonly uid: string;
  readonly name: string;
  readonly isInline: boolean;
  readonly file: StoredBytes | null;
}

const STORED_BYTES_ROW = row({
  id: 'bigint',
  token: 'text',
  name: 'text',
  type: 'text',
  size: 'float8',
});
export type StoredBytes = RowOf<typeof STORED_BYTES_ROW>;

/** The campaign's attachments, in the order of attaching. */
export async function attachmentsOf(db: Queryable, { customerId, campaignId }: CampaignKey): Promise<Attachment[]> {
  const [attachments = []] = await attachmentsOfEach(db, customerId, [campaignId]);
  return attachments;
}

const ATTACHMENT_ROW = row({
  name: 'text',
  uid: 'text',
  isInline: 'bool',
  id: 'bigint?',
  token: 'text?',
  type: 'text?',
  size: 'float8?',
  campaignId: 'bigint',
  fileName: 'text?',
});

/** The same for several campaigns of a customer, in order. */
export async function attachmentsOfEach(
  db: Queryable,
  customerId: bigint,
  campaignIds: readonly bigint[],
): Promise<Attachment[][]> {
  const rows = await db.query(
    ATTACHMENT_ROW,
    sql`SELECT a.campaign_id AS "campaignId", a.uid, a.name, a.is_inline AS "isInline",
               f.id, f.token, f.name AS "fileName", f.content_type AS type, f.size_bytes::float8 AS size
          FROM campaign_attachment a
          LEFT JOIN uploaded_file f ON f.customer_id = a.customer_id AND f.id = a.file_id AND f.status = 'ready'
         WHERE a.customer_id = ${customerId} AND a.campaign_id = ANY(${[...campaignIds]}::bigint[]) ORDER BY a.id`,
    'campaigns.attachments',
  );
  const found = new Map<bigint, Attachment[]>(campaignIds.map((id) => [id, []]));
  for (const { campaignId, uid, name, isInline, id, token, fileName, type, size } of rows) {
    const isThere = id && token && type && fileName !== null && size !== null;
    found
      .get(campaignId)
      ?.push({ uid, name, isInline, file: isThere ? { id, token, name: fileName, type, size } : null });
  }
  return [...found.values()];
}

/** Files of the customer by the tokens of their addresses, the oldest first. */
export function storedFiles(db: Queryable, customerId: bigint, tokens: readonly string[]): Promise<StoredBytes[]> {
  return db.query(
    STORED_BYTES_ROW,
    sql`SELECT id, token, name, content_type AS type, size_bytes::float8 AS size FROM uploaded_file
         WHERE customer_id = ${customerId} AND token = ANY(${[...tokens]}::text[]) AND status = 'ready' ORDER BY id`,
  );
}
