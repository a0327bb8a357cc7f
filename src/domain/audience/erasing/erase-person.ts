/**
 * Erases one person: at once from every list, so that no mail goes any more, and by a job from everything that mails
 * and clicks have left behind. A keyed digest stays, by which an import or a program cannot bring the person back.
 */
import { z } from 'zod';
import { sql, type Queryable } from '../../../db/database.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { erasePersonJob } from '../../../jobs/audience-jobs.ts';
import { deriveKey, seal, unseal } from '../../../lib/crypto.ts';
import { ForbiddenError, NotFoundError } from '../../../lib/errors.ts';
import { isUid, newUid } from '../../../lib/ids.ts';
import { emailAddress, emailKey, parseInput } from '../../../lib/text.ts';
import { holdsScope } from '../../accounts/scopes.ts';
import { inTransaction, viewerOf, type Context, type Installation } from '../../context.ts';
import { eraseSubscriber, type SubscriberKey } from '../subscriber-store.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import { addressDigest, rememberErased } from './erased-people.ts';

export const ERASURE_STATUSES = ['running', 'done'] as const;

export interface Erasure {
  readonly customerId: bigint;
  readonly uid: string;
  readonly status: (typeof ERASURE_STATUSES)[number];
  /** On how many lists the person was. */
  readonly people: number;
  readonly requestedAt: Date;
  readonly finishedAt: Date | null;
}

export interface ErasePersonInput {
  readonly email: string;
  /** From the lists of every customer; for administrators. */
  readonly everywhere?: boolean | null | undefined;
}

const COLUMNS = sql`customer_id AS "customerId", uid, status, people, requested_at AS "requestedAt", finished_at AS "finishedAt"`;

/** Binds a sealed address to its row. */
export function sealContext(customerId: bigint, uid: string): string {
  return `erasure:${customerId}:${uid}`;
}

export function sealKey({ secret }: Installation): Buffer {
  return deriveKey(secret, 'erasure');
}

/**
 * Erases whoever has this address, on all lists of the caller; somebody who is on none is remembered as erased all the
 * same. Throws ValidationError on `email`, ForbiddenError.
 */
export async function erasePerson(ctx: Context, input: ErasePersonInput): Promise<Erasure> {
  const { userId, customerId, isAdmin, scopes } = viewerOf(ctx);
  const key = emailKey(parseInput(z.object({ email: emailAddress() }), input).email);
  if (input.everywhere && (!isAdmin || !holdsScope(scopes, 'admin')))
    throw new ForbiddenError('FORBIDDEN', 'Only an administrator can erase a person for every customer.');
  const whose = input.everywhere ? EVERY_CUSTOMER : customerId;
  return eraseFromLists(ctx, { whose, key, userId });
}

function eraseFromLists(
  ctx: Context,
  { whose, key, userId }: { whose: bigint; key: string; userId: bigint },
): Promise<Erasure> {
  return inTransaction(ctx, async ({ db }) => {
    // Whoever is adding somebody holds its list: they are waited for, and those after us see the digest.
    await db.query(sql`SELECT 1 FROM mail_list WHERE ${ofWhom(whose)} ORDER BY customer_id, id FOR UPDATE`);
    const isSuppressed = await dropSuppressions(db, whose, key);
    await rememberErased(db, { customerId: whose, digest: addressDigest(ctx.installation, key) }, isSuppressed);
    const people = await db.query<SubscriberKey & Record<string, unknown>>(
      sql`SELECT customer_id AS "customerId", list_id AS "listId", id FROM subscriber
           WHERE ${ofWhom(whose)} AND email_key = ${key} ORDER BY customer_id, list_id FOR UPDATE`,
    );
    for (const person of people) await eraseFromList(db, person);
    const uid = newUid();
    const sealed = seal(sealKey(ctx.installation), key, sealContext(whose, uid));
    const [erasure] = await db.query<Erasure & { id: bigint }>(sql`
      INSERT INTO erasure (customer_id, uid, sealed_email, subscriber_ids, people, requested_by)
      VALUES (${whose}, ${uid}, ${sealed}, ${people.map(({ id }) => id)}::bigint[], ${people.length}, ${userId})
      RETURNING ${COLUMNS}, id`);
    if (!erasure) throw new Error('An inserted erasure came back empty.');
    await enqueue(db, erasePersonJob, { customerId: String(whose), erasureId: String(erasure.id) });
    return erasure;
  });
}

/** What has become of an erasure of the caller's; administrators see those for every customer too. Throws NotFoundError. */
export async function findOwnedErasure(ctx: Context, uid: string): Promise<Erasure> {
  const { customerId, isAdmin } = viewerOf(ctx);
  const whose = isAdmin ? [customerId, EVERY_CUSTOMER] : [customerId];
  const [erasure] = isUid(uid)
    ? await ctx.db.query<Erasure & Record<string, unknown>>(
        sql`SELECT ${COLUMNS} FROM erasure WHERE customer_id = ANY (${whose}::bigint[]) AND uid = ${uid}`,
      )
    : [];
  if (!erasure) throw new NotFoundError('ERASURE_NOT_FOUND', 'There is no such erasure.');
  return erasure;
}

/** The address of an erasure that is under way. */
export function sealedAddress(installation: Installation, row: { customerId: bigint; uid: string; sealed: Buffer }) {
  return unseal(sealKey(installation), row.sealed, sealContext(row.customerId, row.uid));
}

function ofWhom(whose: bigint) {
  return whose === EVERY_CUSTOMER ? sql`customer_id > 0` : sql`customer_id = ${whose}`;
}

/** What was suppressed stays so, by the digest. The installation's own entry stays as it is unless it erases for all. */
async function dropSuppressions(db: Queryable, whose: bigint, key: string): Promise<boolean> {
  const every = whose === EVERY_CUSTOMER;
  const dropped = await db.execute(
    sql`DELETE FROM suppression WHERE (${every}::boolean OR customer_id = ${whose}) AND email_key = ${key}`,
  );
  return dropped > 0;
}

async function eraseFromList(db: Queryable, person: SubscriberKey): Promise<void> {
  const { customerId, listId, id } = person;
  await eraseSubscriber(db, person);
  await db.execute(
    sql`DELETE FROM hot.unsubscribe_notice WHERE customer_id = ${customerId} AND list_id = ${listId} AND subscriber_id = ${id}`,
  );
}
