/**
 * The second half of erasing a person: rejected lines, the ledger, events. One statement after the other, each by
 * itself and each harmless to repeat; the row of the erasure forgets the person last.
 */
import { raw, sql, type Queryable } from '../../../db/database.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { erasePersonJob } from '../../../jobs/audience-jobs.ts';
import type { Context } from '../../context.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { sealedAddress } from './erase-person.ts';
import { findPerson } from './find-person.ts';
import { addressPattern, PERSONAL_PLACES, rowsOf, withoutAddress, type Somebody } from './personal-places.ts';

interface OpenErasure {
  readonly customerId: bigint;
  readonly uid: string;
  readonly sealed: Buffer;
  readonly subscriberIds: readonly bigint[];
  /** By the clock of the database: when this look began, after the person was gone from every list. */
  readonly begunAt: string;
}

/**
 * A message that is being handed over now is answered by then, or its worker's lease has run out: of a dead worker and
 * a campaign that was paused since, the row stays as it is until somebody resumes it, and is not waited for.
 */
const UNDER_WAY_SECONDS = 60;

/**
 * Erases what an erasure has left to do. Repeating it, or two at once, is harmless. While a message to the person is
 * being handed over it comes back later: the server's answer, which may name the address, is yet to be written. So it does
 * while a tracking event of the person waits to be counted.
 */
export async function eraseTraces(ctx: Context, { customerId, id }: { customerId: bigint; id: bigint }): Promise<void> {
  const [open] = await ctx.db.query<OpenErasure & Record<string, unknown>>(sql`
    SELECT customer_id AS "customerId", uid, sealed_email AS sealed, subscriber_ids AS "subscriberIds",
           clock_timestamp()::text AS "begunAt"
      FROM erasure WHERE customer_id = ${customerId} AND id = ${id} AND status = 'running'`);
  if (!open) return;
  const emailKey = sealedAddress(ctx.installation, open);
  const known = { emailKey, customerIds: await customersOf(ctx.db, customerId), subscriberIds: open.subscriberIds };
  const person = await findPerson(ctx.db, known);
  // Before anything is erased: what is not on its way now cannot leave anything behind later.
  const comesBack = (await mayBeMarked(ctx.db, open)) || (await isUnderWay(ctx.db, person));
  for (const place of PERSONAL_PLACES) {
    const { table, where, erase } = place;
    if (erase === 'at once') continue;
    if (erase === 'rows') await ctx.db.execute(sql`DELETE ${rowsOf(place, person)}`);
    else await ctx.db.execute(sql`UPDATE ${raw(table)} t SET ${erase(person)} WHERE ${where(person)}`);
  }
  await eraseFromLinks(ctx.db, person);
  await eraseFromInbox(ctx.db, person);
  if (comesBack) {
    const payload = { customerId: String(customerId), erasureId: String(id) };
    return enqueue(ctx.db, erasePersonJob, payload, { delaySeconds: UNDER_WAY_SECONDS, key: `audience.erase:${id}` });
  }
  await ctx.db.execute(sql`
    UPDATE erasure SET status = 'done', sealed_email = NULL, subscriber_ids = '{}', finished_at = now()
     WHERE customer_id = ${customerId} AND id = ${id}`);
  ctx.log.info('audience.person_erased', { erasure: open.uid });
}

async function customersOf(db: Queryable, customerId: bigint): Promise<bigint[]> {
  if (customerId !== EVERY_CUSTOMER) return [customerId];
  return (await db.query<{ id: bigint }>(sql`SELECT id FROM customer ORDER BY id`)).map(({ id }) => id);
}

/** A message to the person, or a tracking event of it that is not counted yet. */
async function isUnderWay(db: Queryable, person: Somebody): Promise<boolean> {
  const { customerIds } = person;
  const subscriberIds = [...person.subscriberIds, ...person.formerIds];
  const rows = await db.query(sql`
    SELECT 1 FROM hot.tracking_event v WHERE v.subscriber_ids && ${subscriberIds}::bigint[] UNION ALL
    SELECT 1 FROM campaign c CROSS JOIN unnest(${subscriberIds}::bigint[]) AS i (id)
     WHERE c.customer_id = ANY (${[...customerIds]}::bigint[]) AND EXISTS (
       SELECT 1 FROM hot.delivery d
        WHERE d.customer_id = c.customer_id AND d.campaign_id = c.id AND d.snapshot_on = c.snapshot_on AND d.subscriber_id = i.id
          AND d.state IN ('leased', 'sending') AND d.lease_expires_at > now()
       -- Keeps it a look-up by key.
       OFFSET 0) LIMIT 1`);
  return rows.length > 0;
}

/**
 * Whether a statement that marks messages as sending has begun before this look and goes on: it sees the lists as they
 * were, with the person on them. Asked first: what it has marked when it ends is then found to be under way.
 */
async function mayBeMarked(db: Queryable, { begunAt }: OpenErasure): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'active' AND query_start <= ${begunAt}::timestamptz
       AND pid <> pg_backend_pid() AND query ~ 'hot[.]record_and_mark[(]' LIMIT 1`);
  return rows.length > 0;
}

/** A link is counted under the address of its first click, which may name who clicked. */
async function eraseFromLinks(db: Queryable, person: Somebody): Promise<void> {
  await db.execute(sql`
    UPDATE hot.link_counter SET url = ${withoutAddress(person, sql`url`)}
     WHERE customer_id = ANY (${[...person.customerIds]}::bigint[]) AND url ~* ${addressPattern(person.emailKey)}`);
}

/** The development receiver keeps what was sent, for the developer: mails to the person, and about it. */
async function eraseFromInbox(db: Queryable, { emailKey }: Somebody): Promise<void> {
  await db.execute(sql`
    DELETE FROM inbox.message
     WHERE ${emailKey} = ANY (SELECT lower(r) FROM unnest(rcpt_to) r)
        OR position(${emailKey} IN lower(replace(encode(raw, 'escape'), E'=\\\\015\\\\012', ''))) > 0
        OR position(${emailKey} IN lower(replace(encode(raw, 'escape'), E'=\\r\\n', ''))) > 0`);
}
