/** How much of its plan a customer uses, limit by limit, in one statement. */
import { sql, row, type Queryable, type RowOf } from '../../../db/database.ts';
import { limitOf, type Allowance } from './allowance.ts';
import { bytesOf } from './require-within-limit.ts';

export interface LimitUsage {
  /** The option of the plan: `list_max`. */
  readonly name: string;
  /** For a limit per list: in the list with the most. */
  readonly used: number;
  /** Null: no limit. */
  readonly max: number | null;
}

const COUNTS_ROW = row({
  lists: 'float8',
  subscribers: 'float8',
  fullestList: 'float8',
  segments: 'float8',
  campaigns: 'float8',
  automations: 'float8',
  servers: 'float8',
  verificationServers: 'float8',
  domains: 'float8',
  uploadedBytes: 'float8',
});
type Counts = RowOf<typeof COUNTS_ROW>;

/** Every counted limit with its usage; uploads in bytes. */
export async function limitUsages(db: Queryable, customerId: bigint, allowance: Allowance): Promise<LimitUsage[]> {
  const counts = await countAll(db, customerId);
  return [
    { name: 'list_max', used: counts.lists, max: limitOf(allowance, 'list_max') },
    { name: 'subscriber_max', used: counts.subscribers, max: limitOf(allowance, 'subscriber_max') },
    { name: 'subscriber_per_list_max', used: counts.fullestList, max: limitOf(allowance, 'subscriber_per_list_max') },
    { name: 'segment_per_list_max', used: counts.segments, max: limitOf(allowance, 'segment_per_list_max') },
    { name: 'campaign_max', used: counts.campaigns, max: limitOf(allowance, 'campaign_max') },
    { name: 'automation_max', used: counts.automations, max: limitOf(allowance, 'automation_max') },
    { name: 'sending_servers_max', used: counts.servers, max: limitOf(allowance, 'sending_servers_max') },
    {
      name: 'email_verification_servers_max',
      used: counts.verificationServers,
      max: limitOf(allowance, 'email_verification_servers_max'),
    },
    { name: 'sending_domains_max', used: counts.domains, max: limitOf(allowance, 'sending_domains_max') },
    {
      name: 'max_size_upload_total',
      used: counts.uploadedBytes,
      max: bytesOf(allowance.options.max_size_upload_total),
    },
  ];
}

async function countAll(db: Queryable, customerId: bigint): Promise<Counts> {
  const [row] = await db.query(
    COUNTS_ROW,
    sql`SELECT (SELECT count(*) FROM mail_list WHERE customer_id = ${customerId})::float8 AS lists,
               p.total::float8 AS subscribers, p.fullest::float8 AS "fullestList",
               (SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM segment WHERE customer_id = ${customerId} GROUP BY list_id) s)::float8 AS segments,
               (SELECT count(*) FROM campaign WHERE customer_id = ${customerId})::float8 AS campaigns,
               (SELECT count(*) FROM automation WHERE customer_id = ${customerId})::float8 AS automations,
               (SELECT count(*) FROM sending_server WHERE customer_id = ${customerId} AND NOT is_system)::float8 AS servers,
               (SELECT count(*) FROM email_verification_server WHERE customer_id = ${customerId} AND NOT is_system)::float8 AS "verificationServers",
               (SELECT count(*) FROM sending_domain WHERE customer_id = ${customerId})::float8 AS domains,
               (SELECT coalesce(sum(size_bytes), 0) FROM uploaded_file WHERE customer_id = ${customerId})::float8 AS "uploadedBytes"
          FROM (SELECT coalesce(sum(subscribed + unsubscribed + unconfirmed + pending), 0) AS total,
                       coalesce(max(subscribed + unsubscribed + unconfirmed + pending), 0) AS fullest
                  FROM hot.list_counter WHERE customer_id = ${customerId}) p`,
    'billing.usage',
  );
  return (
    row ?? {
      lists: 0,
      subscribers: 0,
      fullestList: 0,
      segments: 0,
      campaigns: 0,
      automations: 0,
      servers: 0,
      verificationServers: 0,
      domains: 0,
      uploadedBytes: 0,
    }
  );
}
