/** Rows that many tests stand on, written straight into the tables: a customer, a list, people, a campaign. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { giveUnlimitedPlan } from './plans.ts';

export interface SeededCampaign {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly campaignId: bigint;
  readonly campaignUid: string;
  readonly listUid: string;
  readonly subscriberIds: readonly bigint[];
}

interface SeedOptions {
  readonly subscribers: number;
  readonly trackOpen?: boolean;
  /** Of a customer that is there already. */
  readonly customerId?: bigint;
}

/** A customer (of its own) with one list of subscribed people (`p1@example.org` on) and one campaign to it. */
export async function seedCampaign(
  db: Queryable,
  { subscribers, trackOpen = true, customerId: given }: SeedOptions,
): Promise<SeededCampaign> {
  const [campaignUid, listUid] = [newUid(), newUid()];
  const customerId =
    given ??
    (await idOf(queryRows(db, sql`INSERT INTO customer (uid, name) VALUES (${newUid()}, 'Customer') RETURNING id`)));
  if (given === undefined) await giveUnlimitedPlan(db, customerId);
  const listId = await idOf(
    queryRows(
      db,
      sql`INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
                 VALUES (${customerId}, ${listUid}, 'Friends', 'News', 'news@sender.example', 'Sender') RETURNING id`,
    ),
  );
  const people = await queryRows<{ id: bigint }>(
    db,
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
        SELECT ${customerId}, ${listId}, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}'
          FROM generate_series(1, ${subscribers}::int) n RETURNING id`,
  );
  const campaignId = await idOf(
    queryRows(
      db,
      sql`INSERT INTO campaign (customer_id, uid, list_id, name, track_open)
                 VALUES (${customerId}, ${campaignUid}, ${listId}, 'Campaign', ${trackOpen}) RETURNING id`,
    ),
  );
  return { customerId, listId, campaignId, campaignUid, listUid, subscriberIds: people.map(({ id }) => id) };
}

async function idOf(rows: Promise<{ id?: bigint }[]>): Promise<bigint> {
  const id = (await rows)[0]?.id;
  if (id === undefined) throw new Error('The statement answered no id.');
  return id;
}
