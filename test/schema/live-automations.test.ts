/** Counts of automations as pages watch them (decision D90): now, after each change, and only as long as the rights last. */
import { afterAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { seedCampaign } from '../support/audience-rows.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';
import { newUid } from '../../src/lib/ids.ts';
import { watcherOf } from '../support/watch-subscription.ts';

const app = await startGraphqlApp();
const { ctx } = app;
const { watch, close } = watcherOf(app.url);
afterAll(close);

interface Counts {
  readonly versions: readonly {
    readonly isLive: boolean;
    readonly nodes: readonly { readonly node: string; readonly waiting: string }[];
  }[];
}
const COUNTS =
  'subscription ($uid: String!, $version: Int) { automationCounts(uid: $uid, version: $version) { versions { version isLive waiting nodes { node entered waiting } } } }';

const FLOW = {
  ...{ triggers: [{ type: 'execute' }], entry: { mode: 'once' }, nodes: [{ id: 'call', type: 'api_call' }] },
  edges: [{ from: 'start', port: 'next', to: 'call' }],
  ...{ goals: [], exits: [], holidays: [], passesMax: 10, layout: {} },
};

/** Published, with one person at its node. */
async function owned(scopes?: readonly string[]) {
  const owner = await app.newCustomer(scopes);
  const { listId } = await seedCampaign(ctx.db, { subscribers: 1, customerId: owner.customerId });
  const uid = newUid();
  await ctx.db.execute(sql`
    WITH a AS (INSERT INTO automation (customer_id, list_id, uid, name, status, draft, live_version)
               VALUES (${owner.customerId}, ${listId}, ${uid}, 'Watched', 'active', '{}', 1) RETURNING customer_id, id),
         v AS (INSERT INTO automation_version (customer_id, automation_id, number, flow) SELECT customer_id, id, 1, ${JSON.stringify(FLOW)}::jsonb FROM a)
    INSERT INTO hot.flow_node (customer_id, automation_id, version, node, entered, waiting) SELECT customer_id, id, 1, 'call', 1, 1 FROM a`);
  return { ...owner, uid };
}
const enterOne = (uid: string) =>
  ctx.db.execute(sql`
    UPDATE hot.flow_node SET entered = entered + 1, waiting = waiting + 1 WHERE automation_id = (SELECT id FROM automation WHERE uid = ${uid})`);
const waitingIn = ({ versions }: Counts) => versions[0]?.nodes[0]?.waiting;

test('the counts come at once, then whenever they change, until the automation is gone', async () => {
  const { uid, token } = await owned();
  const watched = watch<Counts>(token, COUNTS, { uid });
  expect(await watched.next()).toEqual({
    versions: [{ version: 1, isLive: true, waiting: '1', nodes: [{ node: 'call', entered: '1', waiting: '1' }] }],
  });
  await enterOne(uid);
  expect(waitingIn(await watched.until((counts) => waitingIn(counts) !== '1'))).toBe('2');
  await ctx.db.execute(sql`UPDATE automation SET live_version = NULL WHERE uid = ${uid}`);
  expect(await watched.until(({ versions }) => versions[0]?.isLive === false)).toMatchObject({ versions: [{}] });
  await ctx.db.execute(sql`DELETE FROM automation WHERE uid = ${uid}`);
  await watched.end();
});

test('they are of one customer, need the right to read, and end with the token', async () => {
  const [{ uid, token, userId }, stranger] = [await owned(), await owned()];
  expect(await watch(stranger.token, COUNTS, { uid }).next()).toContain('AUTOMATION_NOT_FOUND');
  const { token: weak } = await app.newCustomer(['lists:read']);
  expect(await watch(weak, COUNTS, { uid }).next()).toContain('FORBIDDEN');
  expect(await watch(token, COUNTS, { uid, version: 0 }).next()).toContain('INVALID_INPUT');
  const watched = watch<Counts>(token, COUNTS, { uid, version: 1 });
  expect(waitingIn((await watched.next()) as Counts)).toBe('1');
  await ctx.db.execute(sql`UPDATE api_token SET revoked_at = now() WHERE user_id = ${userId}`);
  await enterOne(uid);
  await watched.end();
  expect(watched.codes).not.toEqual([]);
});
