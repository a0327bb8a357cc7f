/** What requests to plugins may cost: they are counted as others are, and a route that takes too long is not waited for. */
import { expect, test } from 'vitest';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const REQUESTS = 40;

const CODE = `export const plugin = { name: 'acme/slow', boot(hooks) {
  hooks.add('route', { method: 'GET', path: '/never', auth: 'public', handle: () => new Promise(() => undefined) });
  hooks.add('route', { method: 'GET', path: '/quick', auth: 'public', handle: () => ({ text: 'quick' }) });
} };`;

test('a route that does not answer is given up, and strangers have a limit', { timeout: 120_000 }, async () => {
  const dataDir = newDataDir();
  const app = await startRestApp({ DATA_DIR: dataDir, RATE_LIMIT_STRANGERS: `${REQUESTS}/1h` });
  writePlugin(dataDir, 'acme/slow', { code: CODE, files: { 'resources/public/a.css': 'body{}' } });
  await pluginClient({ baseUrl: app.baseUrl, token: app.adminToken }).activate('acme/slow');
  const ask = (place: string) => fetch(`${app.baseUrl}/plugins/acme/slow${place}`);

  const never = await ask('/never');
  expect([never.status, await never.json()]).toEqual([
    504,
    { message: 'The plugin acme/slow did not answer in time: it has 10 seconds.' },
  ]);

  const statuses: number[] = [];
  for (let no = 0; no < REQUESTS; no += 1) statuses.push((await ask('/quick')).status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  const refused = await ask('/quick');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  expect((await ask('/pages/settings')).status).toBe(429);
  expect((await ask('/files/a.css')).status).toBe(200);
});
