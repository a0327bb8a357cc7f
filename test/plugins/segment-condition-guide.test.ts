/** The plugin of docs/guides/write-a-segment-condition.md works as it is printed. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const GUIDE = readFileSync(path.resolve(import.meta.dirname, '../../docs/guides/write-a-segment-condition.md'), 'utf8');

function exampleOf(language: string): string {
  return new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(GUIDE)?.[1] ?? '';
}

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const tenant = await app.newTenant();
const { call, add, newList } = mailWorld(app, tenant);

test('the condition is listed, and counts who bought something in the last 30 days', async () => {
  const migrations = { '1_purchases.sql': exampleOf('sql') };
  writePlugin(dataDir, 'acme/shop', { code: exampleOf('ts'), manifest: exampleOf('json'), migrations });
  expect(await client.activate('acme/shop')).toMatchObject({ status: 'ACTIVE', isLive: true, error: null });
  expect((await call('POST', '/me/plugins/acme/shop/switch-on')).status).toBe(200);
  await until(async () => (await call('GET', '/segment_conditions')).text.includes('acme_bought') || undefined);
  const list = await newList();
  const [customer] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`,
  );
  for (const [name, days] of [
    ['ann', 3],
    ['bob', 31],
    ['cid', 29],
  ] as const) {
    const uid = await add(list, `${name}@guide.example`);
    await app.ctx.db.execute(sql`
      INSERT INTO acme_purchase SELECT ${customer?.uid ?? ''}, ${list.uid}, ${uid}, now() - make_interval(days => ${days}::int) FROM generate_series(1, 2)`);
  }
  const body: unknown = JSON.parse(/-d '(.*)'/.exec(exampleOf('sh'))?.[1] ?? '');
  const made = await call('POST', `/lists/${list.uid}/segments`, body);
  expect(made.status, made.text).toBe(201);
  const people = await call('GET', `/segments/${String(field(made, 'segment_uid'))}/subscribers`);
  expect(people.body).toMatchObject({
    data: [{ email: 'ann@guide.example' }, { email: 'cid@guide.example' }],
    meta: { total: 2 },
  });
});
