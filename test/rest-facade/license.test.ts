/** The license: read from a file or an address, believed only when it is signed, and without effect on anything. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { newSigner, startWebServer } from '../support/plugin-archive.ts';
import { startRestApp, type RestApp } from '../support/rest-app.ts';

const signer = newSigner();
const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-license-'));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const file = path.join(folder, 'license.json');

function documentOf(text: object, by = signer): string {
  const license = JSON.stringify(text);
  return JSON.stringify({ license, signature: by.sign(Buffer.from(license)) });
}

const refresh = (app: RestApp) => app.rest('/license/refresh', { method: 'POST' });
const community = { edition: 'community', holder: null, plan: null, expires_at: null, is_expired: false };

test('without a document it is the community edition', async () => {
  const app = await startRestApp();
  expect((await refresh(app)).body).toMatchObject({ status: 1, license: community });
  expect((await app.rest('/license')).body).toMatchObject({ license: community });
  const { token } = await app.newTenant();
  expect((await app.rest('/license', { token })).status).toBe(403);
});

test('a document is believed when one of the keys has signed it; a wrong one changes nothing', async () => {
  const app = await startRestApp({ LICENSE: file, LICENSE_KEYS: `${newSigner().key},${signer.key}` });
  const refused = async (reason: RegExp) =>
    expect(await refresh(app)).toMatchObject({
      status: 422,
      body: { errors: { license: [expect.stringMatching(reason)] } },
    });
  await refused(/cannot be read/);

  writeFileSync(file, documentOf({ holder: 'Acme Inc.', plan: 'Gold', expiresAt: '2999-01-31T00:00:00Z' }));
  const license = { edition: 'licensed', holder: 'Acme Inc.', plan: 'Gold', is_expired: false };
  expect((await refresh(app)).body).toMatchObject({ license });

  writeFileSync(file, documentOf({ holder: 'Thief', plan: 'Gold' }, newSigner()));
  await refused(/No key/);
  writeFileSync(file, documentOf({ holder: 'Acme Inc.', plan: 'Gold' }).replace('Gold', 'Gild'));
  await refused(/No key/);
  writeFileSync(file, documentOf({ plan: 'Gold' }));
  await refused(/says no holder/);
  for (const text of ['', '[]', '{"license":1}', '{'.repeat(70_000)]) {
    writeFileSync(file, text);
    await refused(/is no license/);
  }
  expect((await app.rest('/license')).body).toMatchObject({ license });

  // An expired one says so, and nothing else.
  writeFileSync(file, documentOf({ holder: 'Acme Inc.', plan: 'Gold', expiresAt: '2001-01-31T00:00:00Z' }));
  expect((await refresh(app)).body).toMatchObject({ license: { ...license, is_expired: true } });
  expect((await app.newTenant()).token).not.toBe('');
});

test('a document at an address; private ones only where the operator allows it', async () => {
  const origin = await startWebServer((_req, res) => res.end(documentOf({ holder: 'Acme Inc.', plan: 'Gold' })));
  const settings = { LICENSE: `${origin}/license`, LICENSE_KEYS: signer.key };
  expect(await refresh(await startRestApp(settings))).toMatchObject({
    ...{ status: 422, body: { errors: { license: [expect.stringMatching(/not a public address/)] } } },
  });
  const app = await startRestApp({ ...settings, OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
  expect((await refresh(app)).body).toMatchObject({ license: { holder: 'Acme Inc.', expires_at: null } });
});

test('without keys nothing is believed', async () => {
  writeFileSync(file, documentOf({ holder: 'Acme Inc.', plan: 'Gold' }));
  expect(await refresh(await startRestApp({ LICENSE: file }))).toMatchObject({
    ...{ status: 422, body: { errors: { license: [expect.stringMatching(/set LICENSE_KEYS/)] } } },
  });
});
