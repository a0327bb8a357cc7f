/** Erasing somebody while others act on the same person, and after a worker died in the middle of a message (B12). */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import { erasePerson, findOwnedErasure } from '../../../../src/domain/audience/erasing/erase-person.ts';
import { eraseTraces } from '../../../../src/domain/audience/erasing/erase-traces.ts';
import { updateSubscriber } from '../../../../src/domain/audience/update-subscriber.ts';
import { settle, type Settled } from '../../../../src/domain/delivery/ledger/ledger-store.ts';
import { viewerOf, type Context } from '../../../../src/domain/context.ts';
import { newUid, subscriberUid } from '../../../../src/lib/ids.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { ledgerOfCampaign } from '../../../../src/domain/delivery/ledger/delivery.ts';
import { createTestContext } from '../../../support/test-context.ts';

const base = await createTestContext();

async function waiters({ db }: Context): Promise<number> {
  const rows = await queryRows(
    db,
    sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

describe('somebody who is erased', () => {
  test('is not put back by whoever is just giving another row that address', async () => {
    const ctx = await createTenant(base);
    const { customerId } = viewerOf(ctx);
    const list = await newList(ctx);
    const bob = await addSubscriber(ctx, { listUid: list.uid, email: 'bob@person.example' });
    let changing: Promise<unknown> = Promise.resolve();
    let erasing: Promise<unknown> = Promise.resolve();
    // Whoever holds the list's counters holds the change up, in the middle of its act.
    await ctx.database.transaction(async (holder) => {
      await queryRows(holder, sql`SELECT 1 FROM hot.list_counter WHERE customer_id = ${customerId} FOR UPDATE`);
      const change = { subscriber: subscriberUid(bob.id), email: 'ann@person.example', status: 'unsubscribed' };
      changing = updateSubscriber(ctx, change).catch((error: unknown) => error);
      await expect.poll(() => waiters(ctx), { interval: 20 }).toBe(1);
      erasing = erasePerson(ctx, { email: 'ann@person.example' });
      await Promise.race([erasing, expect.poll(() => waiters(ctx), { interval: 20 }).toBe(2)]);
    });
    await Promise.all([changing, erasing]);
    const left = await queryRows(
      ctx.db,
      sql`SELECT 1 FROM subscriber WHERE customer_id = ${customerId} AND email_key = 'ann@person.example'`,
    );
    expect(left).toHaveLength(0);
  });

  test('is waited for while a message may yet be marked that was looked at before', async () => {
    const ctx = await createTenant(base);
    await queryRows(ctx.db, sql`SELECT hot.ensure_partitions(current_date, current_date)`);
    const { customerId } = viewerOf(ctx);
    const list = await newList(ctx);
    const [campaign] = await queryRows<{ id: bigint; day: string; version: number }>(
      ctx.db,
      sql`
      INSERT INTO campaign (customer_id, uid, list_id, name, status, snapshot_on)
      VALUES (${customerId}, ${newUid()}, ${list.id}, 'News', 'sending', current_date) RETURNING id, snapshot_on::text AS day, content_version AS version`,
    );
    const people: { id: bigint }[] = [];
    for (const email of ['bob@person.example', 'cat@person.example']) {
      const person = await addSubscriber(ctx, { listUid: list.uid, email });
      people.push(person);
      await ctx.db.execute(sql`
        INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state)
        VALUES (current_date, ${customerId}, 1, ${campaign?.id}, ${person.id}, ${list.id}, ${email}, 'queued')`);
    }
    const [bob, cat] = people.map(({ id }) => id);
    const key = ledgerOfCampaign({ snapshotOn: campaign?.day ?? '', customerId, campaignId: campaign?.id ?? 0n });
    const erase = async (uid: string) => {
      const [erasure] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM erasure WHERE uid = ${uid}`);
      await eraseTraces(ctx, { customerId, id: erasure?.id ?? 0n });
      return (await findOwnedErasure(ctx, uid)).status;
    };
    let marking: Promise<Settled> | undefined;
    let uid = '';
    // The statement that marks both has begun, and waits for the first.
    await ctx.database.transaction(async (holder) => {
      await queryRows(holder, sql`SELECT 1 FROM hot.delivery WHERE recipient_id = ${bob} FOR UPDATE`);
      marking = settle(ctx.database, {
        ...{ key, serverId: 1n, outcomes: [] },
        holder: { owner: randomUUID(), leaseSeconds: 45 },
        next: [
          { recipientId: bob ?? 0n, occurrence: 0n, epoch: 1, email: 'bob@person.example' },
          { recipientId: cat ?? 0n, occurrence: 0n, epoch: 1, email: 'cat@person.example' },
        ],
        contentVersion: campaign?.version ?? null,
      });
      await expect.poll(() => waiters(ctx), { interval: 20 }).toBe(1);
      ({ uid } = await erasePerson(ctx, { email: 'cat@person.example' }));
      expect(await erase(uid)).toBe('running');
    });
    expect([...((await marking)?.notMarked ?? [])].map(({ recipientId }) => recipientId)).not.toContain(cat);
    expect(await erase(uid)).toBe('running');
    await ctx.db.execute(
      sql`UPDATE hot.delivery SET state = 'sent', lease_expires_at = NULL WHERE recipient_id = ${cat}`,
    );
    expect(await erase(uid)).toBe('done');
  });

  test('is waited for while a click of it is not counted yet', async () => {
    const ctx = await createTenant(base);
    const { customerId } = viewerOf(ctx);
    const list = await newList(ctx);
    const ann = await addSubscriber(ctx, { listUid: list.uid, email: 'ann@person.example' });
    await ctx.db.execute(sql`
      INSERT INTO hot.tracking_event (since, until, size, customer_ids, list_ids, source_kinds, source_ids, recipient_ids, occurrences, link_nos, urls, are_machines,
                             is_prefetch, ips, user_agents, countries, regions, cities, ages)
      VALUES (now(), now(), 2, ARRAY[${customerId}, ${customerId}]::bigint[], '{1,1}', '{1,1}', '{1,1}', ARRAY[1, ${ann.id}]::bigint[], '{0,0}', '{0,0}', '{u,u}', '{f,f}',
              '{f,f}', '{1.2.3.4,1.2.3.4}', '{a,a}', '{x,x}', '{x,x}', '{x,x}', '{0,0}')`);
    const { uid } = await erasePerson(ctx, { email: 'ann@person.example' });
    const [erasure] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM erasure WHERE uid = ${uid}`);
    await eraseTraces(ctx, { customerId, id: erasure?.id ?? 0n });
    expect(await findOwnedErasure(ctx, uid)).toMatchObject({ status: 'running' });
    await ctx.db.execute(sql`DELETE FROM hot.tracking_event`);
    await eraseTraces(ctx, { customerId, id: erasure?.id ?? 0n });
    expect(await findOwnedErasure(ctx, uid)).toMatchObject({ status: 'done' });
  });

  test.each(['leased', 'sending'])('is erased to the end though its message is %s by a dead worker', async (state) => {
    const ctx = await createTenant(base);
    await queryRows(ctx.db, sql`SELECT hot.ensure_partitions(current_date, current_date)`);
    const { customerId } = viewerOf(ctx);
    const list = await newList(ctx);
    const ann = await addSubscriber(ctx, { listUid: list.uid, email: 'ann@person.example' });
    const [campaign] = await queryRows<{ id: bigint }>(
      ctx.db,
      sql`
      INSERT INTO campaign (customer_id, uid, list_id, name, status, snapshot_on)
      VALUES (${customerId}, ${newUid()}, ${list.id}, 'News', 'paused', current_date) RETURNING id`,
    );
    await ctx.db.execute(sql`
      INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email, state, owner, lease_expires_at)
      VALUES (current_date, ${customerId}, 1, ${campaign?.id}, ${ann.id}, ${list.id}, 'ann@person.example', ${state}::hot.delivery_state,
              ${randomUUID()}::uuid, now() + interval '1 minute')`);
    const { uid } = await erasePerson(ctx, { email: 'ann@person.example' });
    const [erasure] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM erasure WHERE uid = ${uid}`);
    // Its worker may only be cut off: until the lease is over, its server's answer may still be written.
    await eraseTraces(ctx, { customerId, id: erasure?.id ?? 0n });
    expect(await findOwnedErasure(ctx, uid)).toMatchObject({ status: 'running' });
    await ctx.db.execute(sql`
      UPDATE hot.delivery SET lease_expires_at = now() - interval '1 second' WHERE customer_id = ${customerId}`);
    await eraseTraces(ctx, { customerId, id: erasure?.id ?? 0n });
    expect(await findOwnedErasure(ctx, uid)).toMatchObject({ status: 'done' });
  });
});
