/**
 * A row of the audit trail that cannot be written is tried again until it is, with the time of its change; one that can
 * never be written keeps no other; what is left at the end of the program is in the log.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createAuditTrail } from '../../src/domain/accounts/audit-trail.ts';
import { createLog } from '../../src/lib/log.ts';
import { openRestApp } from '../support/open-rest-app.ts';
import { startRestApp } from '../support/rest-app.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const { db } = app.ctx;
const WAIT = { timeout: 120_000, interval: 50 };
const AWAY_MS = 2_000;

const takeTableAway = () => db.execute(sql`ALTER TABLE hot.audit_event RENAME TO audit_event_away`);
const bringTableBack = () => db.execute(sql`ALTER TABLE IF EXISTS hot.audit_event_away RENAME TO audit_event`);
afterEach(bringTableBack);

const rename = (listUid: string, token: string, name: string) =>
  app.rest(`/lists/${listUid}`, { method: 'PATCH', token, body: { name } });
const events = (customerId: bigint) =>
  queryRows<{ operation: string; at: Date }>(
    db,
    sql`SELECT operation, at FROM hot.audit_event WHERE customer_id = ${customerId} ORDER BY id`,
  );
const now = async () =>
  (await queryRows<{ now: Date }>(db, sql`SELECT clock_timestamp() AS now`))[0]?.now.getTime() ?? 0;
const entry = (customerId: bigint, operation: string) => ({
  ...{
    customerId,
    actor: null,
    operation,
    targetUid: null,
    fields: [],
    entryPoint: 'graphql' as const,
    ipAddress: null,
  },
});

test('changes are answered while their rows cannot be written; the rows are written when they can be', async () => {
  const world = await newWorld(app, {});
  await takeTableAway();
  const begunAt = await now();
  for (const name of ['A', 'B', 'C']) expect((await rename(world.listUid, world.token, name)).status).toBe(200);
  const told = app.logged.filter((line) => line.includes('audit.not_written'));
  expect(told).toHaveLength(1);
  const changedAt = await now();
  await sleep(AWAY_MS);
  await bringTableBack();
  await vi.waitFor(async () => expect(await events(world.customerId)).toHaveLength(3), WAIT);
  await vi.waitFor(() => expect(app.logged.join('\n')).toContain('"event":"audit.written_late","rows":3'), WAIT);
  for (const { operation, at } of await events(world.customerId)) {
    expect(operation).toBe('updateList');
    // When it was done, not when it was written: that was not before the table was there again. A busy machine takes some time
    // between telling a row's age and writing it.
    expect(at.getTime()).toBeGreaterThanOrEqual(begunAt - 5);
    expect(at.getTime()).toBeLessThan(changedAt + AWAY_MS);
  }
});

test('a change of how somebody gets in is made with its row, or not at all', async () => {
  const world = await newWorld(app, {});
  await takeTableAway();
  const create = async () => {
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${world.token}` },
      body: JSON.stringify({ query: 'mutation { createApiToken(input: { name: "More" }) { __typename } }' }),
    });
    return response.json();
  };
  const tokens = () => queryRows(db, sql`SELECT 1 FROM api_token WHERE customer_id = ${world.customerId}`);
  const before = await tokens();
  expect((await create()).errors).toHaveLength(1);
  expect(await tokens()).toHaveLength(before.length);
  await bringTableBack();
  expect((await create()).errors).toBeUndefined();
  expect(await tokens()).toHaveLength(before.length + 1);
  expect(await events(world.customerId)).toMatchObject([{ operation: 'createApiToken' }]);
});

describe('a trail', () => {
  const newTrail = () => {
    const lines: string[] = [];
    const log = createLog({ level: 'info', format: 'json', write: (line) => void lines.push(line) });
    return { lines, trail: createAuditTrail(app.ctx.database, log) };
  };

  test('is not kept up by a row that no table can hold', async () => {
    const { lines, trail } = newTrail();
    const { customerId } = await app.newTenant();
    await Promise.all([trail.record(entry(2n ** 70n, 'impossible')), trail.record(entry(customerId, 'possible'))]);
    await vi.waitFor(async () => expect(await events(customerId)).toMatchObject([{ operation: 'possible' }]), WAIT);
    await vi.waitFor(() => expect(lines.join('\n')).toMatch(/"event":"audit.lost".*"operation":"impossible"/), WAIT);
    await trail.close();
  });

  test('writes what waits when it is closed', async () => {
    const { trail } = newTrail();
    const { customerId } = await app.newTenant();
    await takeTableAway();
    await trail.record(entry(customerId, 'late'));
    await bringTableBack();
    await trail.close();
    expect(await events(customerId)).toMatchObject([{ operation: 'late' }]);
  });
});

test('what cannot be written until the program ends is in its log, whole', async () => {
  const { url } = await createTestDatabase();
  const other = await openRestApp(url);
  const world = await newWorld(other, {});
  await other.ctx.db.execute(sql`DROP TABLE hot.audit_event`);
  const patch = { method: 'PATCH', token: world.token, body: { name: 'Renamed' } };
  for (let no = 0; no < 3; no++) expect((await other.rest(`/lists/${world.listUid}`, patch)).status).toBe(200);
  await other.stop();
  const lost = other.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'audit.lost');
  expect(lost).toHaveLength(3);
  expect(lost.slice(0, 1)).toMatchObject([
    {
      operation: 'updateList',
      targetUid: world.listUid,
      fields: ['name', 'uid'],
      ipAddress: '127.0.0.1',
      entryPoint: 'rest',
    },
  ]);
  expect(JSON.stringify(lost)).not.toContain('Renamed');
});
