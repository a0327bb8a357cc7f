/** Servers by weight: who may name which, who carries a campaign, who stands in; and a warm-up that stops by itself. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { updateCampaign } from '../../../src/domain/campaigns/update-campaign.ts';
import { viewerOf, type Context } from '../../../src/domain/context.ts';
import { routedServers, routeQuestion } from '../../../src/domain/sending/sending-server-read-model.ts';
import { deleteSendingServer } from '../../../src/domain/sending/delete-sending-server.ts';
import { createDriverPool } from '../../../src/domain/sending/driver-pool.ts';
import { recordWarmUp, takePaces } from '../../../src/domain/sending/routing/pace-store.ts';
import type { WarmUpState } from '../../../src/domain/sending/routing/paces.ts';
import { pickServer, type Candidate } from '../../../src/domain/sending/routing/pick-server.ts';
import { setSendingRoutes } from '../../../src/domain/sending/set-routes.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { loadPlugins } from '../../../src/plugin-host/load-plugins.ts';
import { givePlan } from '../../support/plans.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
const house = viewerOf(await createTenant(root)).customerId;

async function server(customerId: bigint, name: string, isSystem = false): Promise<string> {
  const uid = newUid();
  await root.db.execute(
    sql`INSERT INTO sending_server (customer_id, uid, name, type, is_system) VALUES (${customerId}, ${uid}, ${name}, 'smtp', ${isSystem})`,
  );
  return uid;
}

async function routesOf(
  { db, viewer }: Context,
  campaignUid: string | null = null,
): Promise<[string, number | null][]> {
  const [row] = await queryRows<{ id: bigint }>(db, sql`SELECT id FROM campaign WHERE uid = ${campaignUid}`);
  const rows = await queryRows<{ name: string; weight: number | null }>(
    db,
    routedServers(sql`s.name`, routeQuestion(viewer?.customerId ?? 0n, row?.id ?? null)),
  );
  return rows.map(({ name, weight }) => [name, weight]);
}

async function newCampaign(ctx: Context): Promise<string> {
  const list = await newList(ctx);
  const words = { name: 'N', subject: 'S', fromEmail: 'n@s.example', fromName: 'S', html: '<p>Hi</p>' };
  return (await createCampaign(ctx, { listUid: list.uid, ...words })).uid;
}

describe('a choice of servers', () => {
  it('of a campaign is binding, that of the customer and of the plan count where they name one that may be used', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    const [one, two, three] = [
      await server(customerId, 'one'),
      await server(customerId, 'two'),
      await server(customerId, 'three'),
    ];
    expect(await routesOf(ctx)).toEqual([
      ['one', null],
      ['two', null],
      ['three', null],
    ]);
    await setSendingRoutes(ctx, { servers: [{ uid: two, weight: 3 }, { uid: three }] });
    expect(await routesOf(ctx)).toEqual([
      ['two', 3],
      ['three', 1],
    ]);
    const campaign = await newCampaign(ctx);
    await updateCampaign(ctx, campaign, { sendingServers: [{ uid: one, weight: 5 }] });
    expect(await routesOf(ctx, campaign)).toEqual([['one', 5]]);
    await expect(deleteSendingServer(ctx, { uid: two })).resolves.toBeDefined();
    await root.db.execute(sql`UPDATE sending_server SET status = 'inactive' WHERE uid IN (${one}, ${three})`);
    expect(await routesOf(ctx, campaign)).toEqual([]);
    await expect(startCampaign(ctx, campaign)).rejects.toMatchObject({
      fields: { sendingServer: [expect.any(String)] },
    });
    await updateCampaign(ctx, campaign, { sendingServers: null });
    await root.db.execute(sql`UPDATE sending_server SET status = 'active' WHERE uid = ${one}`);
    expect(await routesOf(ctx, campaign)).toEqual([['one', null]]);
  });

  it('of a plan spreads its customers over servers of the system; none is deleted while an unfinished campaign goes through it', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    const [first, second] = [await server(house, 'first', true), await server(house, 'second', true)];
    await givePlan(root.db, customerId, {});
    await root.db.execute(
      sql`UPDATE plan SET sending_servers = ${JSON.stringify([
        { uid: first, weight: 1 },
        { uid: second, weight: 2 },
      ])}::jsonb
           WHERE id = (SELECT plan_id FROM subscription WHERE customer_id = ${customerId})`,
    );
    expect(await routesOf(ctx)).toEqual([
      ['first', 1],
      ['second', 2],
    ]);
    const campaign = await newCampaign(ctx);
    await root.db.execute(sql`UPDATE campaign SET status = 'sending' WHERE uid = ${campaign}`);
    const owner = { ...root, viewer: { ...viewerOf(ctx), customerId: house } };
    for (const uid of [first, second])
      await expect(deleteSendingServer(owner, { uid })).rejects.toMatchObject({ code: 'SENDING_SERVER_IN_USE' });
    await root.db.execute(sql`DELETE FROM sending_server WHERE is_system`);
  });

  it('names no server of another customer, and none that is not there', async () => {
    const [ctx, other] = [await createTenant(root), await createTenant(root)];
    const theirs = await server(viewerOf(other).customerId, 'theirs');
    const campaign = await newCampaign(ctx);
    for (const choose of [
      (uid: string) => setSendingRoutes(ctx, { servers: [{ uid }] }),
      (uid: string) => updateCampaign(ctx, campaign, { sendingServers: [{ uid }] }),
    ]) {
      await expect(choose(theirs)).rejects.toMatchObject({ name: 'ForeignResourceError' });
      await expect(choose(newUid())).rejects.toMatchObject({ name: 'NotFoundError' });
    }
    expect(await routesOf(ctx, campaign)).toEqual([]);
  });
});

describe('of several servers', () => {
  const well: Candidate = { weight: 1, place: 1, restSeconds: 0, isTried: false, isFull: false };
  const servers = (...changes: Partial<Candidate>[]) =>
    changes.map((change, no) => ({ ...well, place: no + 1, ...change }));
  const shares = (candidates: readonly Candidate[]) => {
    const counts = candidates.map(() => 0);
    for (let throwNo = 0; throwNo < 1_000; throwNo++) {
      const picked = pickServer(candidates, (throwNo + 0.5) / 1_000);
      counts[(picked?.place ?? 0) - 1] = (counts[(picked?.place ?? 0) - 1] ?? 0) + 1;
    }
    return counts;
  };

  it.each([
    ['each carries its weight', servers({ weight: 3 }, { weight: 1 }), [750, 250]],
    [
      'the others carry what one in trouble would',
      servers({ weight: 3, restSeconds: 4 }, { weight: 1 }, { weight: 1 }),
      [0, 500, 500],
    ],
    ['one whose day is full sends nothing', servers({ isFull: true }, {}), [0, 1_000]],
    ['one that is being tried again is left to whoever tries', servers({ isTried: true }, {}), [0, 1_000]],
    ['without weights the first carries everything', servers({ weight: null }, { weight: null }), [1_000, 0]],
    [
      'the next stands in for it',
      servers({ weight: null, restSeconds: 9 }, { weight: null }, { weight: null }),
      [0, 1_000, 0],
    ],
    ['where none may send, the one that may first', servers({ restSeconds: 9 }, { restSeconds: 3 }), [0, 1_000]],
  ])('%s', (_what, candidates, expected) => {
    expect(shares(candidates)).toEqual(expected);
  });

  it('where all are equally in trouble, it is the first of them', async () => {
    const ctx = await createTenant(root);
    const { customerId } = viewerOf(ctx);
    for (const name of ['one', 'two', 'three']) await server(customerId, name);
    await root.db.execute(sql`
      UPDATE sending_server SET settings = '{"host": "127.0.0.1", "port": 1, "encryption": "none"}',
             warm_up = ${JSON.stringify({ kind: 'days', days: [1], goal: 10 })}::jsonb, warm_up_started_at = now(), warm_up_stopped_at = now()
       WHERE customer_id = ${customerId}`);
    await loadPlugins(path.resolve('plugins'), root.hooks);
    const drivers = createDriverPool(ctx.hooks);
    expect(await drivers.channelFor(ctx, customerId)).toMatchObject({ serverName: 'one' });
    await drivers.close();
  });
});

describe('a warm-up', () => {
  const schedules = {
    linear: { kind: 'linear', start: 50, step: 25, goal: 200, bounce_rate_max: 5 },
    exponential: { kind: 'exponential', start: 10, factor: 2, goal: 1_000, bounce_rate_max: 5 },
    days: { kind: 'days', days: [20, 40, 80], goal: 1_000_000, bounce_rate_max: 5 },
  };

  it.each([
    ['linear', [50, 75, 100, 125, 150, 175, null]],
    ['exponential', [10, 20, 40, 80, 160, 320, 640, null]],
    ['days', [20, 40, 80, null]],
  ] as const)('%s allows each day so many, and then any number', async (kind, expected) => {
    const rows = await queryRows<{ allowed: number | null }>(
      root.db,
      sql`SELECT hot.warm_up_limit(${JSON.stringify(schedules[kind])}::jsonb, day) AS allowed FROM generate_series(1, ${expected.length}) day ORDER BY day`,
    );
    expect(rows.map(({ allowed }) => allowed)).toEqual(expected);
  });

  async function warming(): Promise<WarmUpState> {
    const uid = await server(house, 'warm', true);
    const [row] = await queryRows<{ id: bigint; at: Date }>(
      root.db,
      sql`UPDATE sending_server SET warm_up = ${JSON.stringify(schedules.linear)}::jsonb, warm_up_started_at = now() WHERE uid = ${uid} RETURNING id, warm_up_started_at AS at`,
    );
    return { serverId: row?.id ?? 0n, schedule: schedules.linear, startedAt: row?.at ?? new Date() };
  }

  it('gives out the day once among many processes, takes back what was not used, and says when the next day begins', async () => {
    const warmUp = await warming();
    const take = (wanted: number, dayReturned = 0) =>
      takePaces(root.db, {
        buckets: [],
        classes: [{ wanted, bucket: undefined }],
        warmUp,
        returned: new Map(),
        dayReturned,
      });
    const answers = await Promise.all(Array.from({ length: 20 }, () => take(7)));
    expect(answers.reduce((sum, { granted }) => sum + (granted[0] ?? 0), 0)).toBe(50);
    const full = await take(1);
    expect(full).toMatchObject({ granted: [0], stoppedBy: -1 });
    expect(full.waitSeconds).toBeGreaterThan(86_000);
    expect((await take(9, 4)).granted).toEqual([4]);
  });

  it('stops above its share of hard bounces, says why, and not for a handful', async () => {
    const { serverId } = await warming();
    const standing = async () => {
      const [row] = await queryRows<{ reason: string | null }>(
        root.db,
        sql`SELECT warm_up_stop_reason AS reason FROM sending_server WHERE id = ${serverId}`,
      );
      return row?.reason ?? null;
    };
    await recordWarmUp(root.db, serverId, { sent: 1, bounced: 3 });
    expect(await standing()).toBeNull();
    await recordWarmUp(root.db, serverId, { sent: 76, bounced: 0 });
    await recordWarmUp(root.db, serverId, { sent: 18, bounced: 1 });
    expect(await standing()).toBeNull();
    await recordWarmUp(root.db, serverId, { sent: 0, bounced: 2 });
    expect(await standing()).toBe('6 of 101 messages of the last day bounced hard: more than 5 %.');
  });
});
