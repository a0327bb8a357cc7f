import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { sql, type Sql } from '../../src/db/database.ts';
import type { Authentication } from '../../src/domain/accounts/authentication.ts';
import { openTokenCache } from '../../src/domain/accounts/token-cache.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';
import { givePlan } from '../support/plans.ts';

const app = await startGraphqlApp();
const cache = openTokenCache(app.notifications);
const MADE = z
  .object({ token: z.string(), apiToken: z.object({ uid: z.string() }) })
  .transform(({ token, apiToken }) => ({ token, uid: apiToken.uid }));
const LISTS = '{ lists(first: 1) { ... on MailListConnection { nodes { uid } } ... on Error { code } } }';

/** What a request with this token is answered: an error's code, or null. */
async function codeOf(token: string): Promise<unknown> {
  const { data } = await app.run(LISTS, {}, token);
  return (data['lists'] as { code?: string }).code ?? null;
}

async function remembered(token: string): Promise<{ lookUps: () => number; ask: () => Promise<unknown> }> {
  let count = 0;
  const found: Authentication = {
    viewer: {
      ...{ userId: 1n, userUid: 'a', customerId: 1n, tokenId: 1n, tokenUid: 'a', tokenKind: 'named' as const },
      ...{ isAdmin: false, scopes: ['*'] },
    },
    ...{ restDialect: null, mayUseApi: true, mayUseInMaintenance: false },
  };
  const ask = () => cache.find(token, async () => ((count += 1), found));
  await expect
    .poll(async () => (await ask(), await ask(), (count = 0), await ask(), count), { timeout: 120_000 })
    .toBe(0);
  return { lookUps: () => count, ask };
}

test('a token is looked up once for many requests, and again after two seconds', async () => {
  const { lookUps, ask } = await remembered('busy');
  const startedAt = performance.now();
  while (lookUps() === 0 && performance.now() - startedAt < 10_000) await ask();
  expect(lookUps()).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThan(100);
});

test('requests that come while a token is looked up share the answer, and after a change none do', async () => {
  const { ask: first } = await remembered('herd');
  const found = await first();
  const answers: ((found: null) => void)[] = [];
  const ask = (token: string) => cache.find(token, () => new Promise((answer) => answers.push(answer)));
  const asked = [ask('crowd'), ask('crowd')];
  expect(answers).toHaveLength(1);
  cache.clear();
  asked.push(ask('crowd'));
  expect(answers).toHaveLength(2);
  for (const answer of answers) answer(null);
  expect(await Promise.all(asked)).toEqual([null, null, null]);
  expect(found).not.toBeNull();
});

test('nothing is remembered while the process is not told of changes', async () => {
  const { lookUps, ask } = await remembered('deaf');
  await app.ctx.db.execute(sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'mailwright-listen'`);
  await expect.poll(() => app.notifications.isListening('changed_access')).toBe(false);
  await ask();
  await ask();
  expect(lookUps()).toBe(2);
  await expect.poll(() => app.notifications.isListening('changed_access'), { timeout: 120_000 }).toBe(true);
});

test('after a lost connection the gap is told before the channel counts as heard', async () => {
  const believed: boolean[] = [];
  const stop = app.notifications.listen('changed_access', (payload) => {
    if (payload === null) believed.push(app.notifications.isListening('changed_access'));
  });
  await app.ctx.db.execute(sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'mailwright-listen'`);
  await expect.poll(() => believed, { timeout: 120_000 }).toEqual([false]);
  stop();
  await expect.poll(() => app.notifications.isListening('changed_access')).toBe(true);
});

test('what was read before a change is not kept after it', async () => {
  await remembered('late');
  cache.clear();
  let answer = (_found: null): void => undefined;
  const reading = cache.find('late', () => new Promise((resolve) => (answer = resolve)));
  cache.clear();
  answer(null);
  await reading;
  const { lookUps } = await remembered('late');
  expect(lookUps()).toBe(0);
});

test('a token that this process revokes is refused by the next request, every time', async () => {
  const { token: owner } = await app.newCustomer();
  for (let round = 0; round < 20; round++) {
    const { data } = await app.run(
      'mutation { made: createApiToken(input: { name: "Program" }) { ... on CreatedApiToken { token apiToken { uid } } } }',
      {},
      owner,
    );
    const { token, uid } = z.object({ made: MADE }).parse(data).made;
    expect([await codeOf(token), await codeOf(token)]).toEqual([null, null]);
    await app.run('mutation ($uid: String!) { revokeApiToken(uid: $uid) { __typename } }', { uid }, owner);
    expect(await codeOf(token)).toBe('UNAUTHENTICATED');
  }
});

const CHANGES: readonly [string, (world: { customerId: bigint; userId: bigint }) => Sql][] = [
  ['its token is revoked', ({ userId }) => sql`UPDATE api_token SET revoked_at = now() WHERE user_id = ${userId}`],
  ['its token expires', ({ userId }) => sql`UPDATE api_token SET expires_at = now() WHERE user_id = ${userId}`],
  ['its token is deleted', ({ userId }) => sql`DELETE FROM api_token WHERE user_id = ${userId}`],
  ['its token loses its scopes', ({ userId }) => sql`UPDATE api_token SET scopes = '{}' WHERE user_id = ${userId}`],
  ['its user is disabled', ({ userId }) => sql`UPDATE app_user SET status = 'disabled' WHERE id = ${userId}`],
  [
    'its customer is disabled',
    ({ customerId }) => sql`UPDATE customer SET status = 'disabled' WHERE id = ${customerId}`,
  ],
  [
    'its subscription excludes the API',
    ({ customerId }) => sql`UPDATE subscription SET options = '{"api_access": "no"}' WHERE customer_id = ${customerId}`,
  ],
  [
    'its plan excludes the API',
    ({ customerId }) =>
      sql`UPDATE plan SET options = options || '{"api_access": "no"}' WHERE id IN (SELECT plan_id FROM subscription WHERE customer_id = ${customerId})`,
  ],
];

test.each(CHANGES)('a remembered token stops when, in another process, %s', async (_name, change) => {
  const world = await app.newCustomer();
  await givePlan(app.ctx.db, world.customerId, {});
  await expect.poll(() => codeOf(world.token)).toBeNull();
  // What is remembered does not grow old: only the announcement ends it.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  await expect.poll(async () => [await codeOf(world.token), await codeOf(world.token)]).toEqual([null, null]);
  await app.ctx.db.execute(change(world));
  await expect.poll(() => codeOf(world.token), { interval: 5 }).not.toBeNull();
});
