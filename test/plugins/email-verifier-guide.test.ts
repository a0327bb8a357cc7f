/** The plugin of docs/guides/write-an-email-verifier.md works as it is printed, and keeps the contract of email verifiers. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { until } from '../support/mail-world.ts';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startVerifierVendor, vendorsAddresses, VERIFIER_KEY } from '../support/verifier-vendor.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const GUIDE = readFileSync(path.join(ROOT, 'docs/guides/write-an-email-verifier.md'), 'utf8');

/** The examples in this language, without the indentation of their step. */
function examplesOf(language: string): string[] {
  const found = GUIDE.matchAll(new RegExp(`   \`\`\`${language}\n(.*?)\n   \`\`\``, 'gs'));
  return [...found].map(([, text = '']) => text.replaceAll(/^ {3}/gm, ''));
}

const dataDir = newDataDir();
const [code = '', tests = ''] = examplesOf('ts');
const [manifest = ''] = examplesOf('json');
const double = pathToFileURL(path.join(ROOT, 'test/support/verifier-vendor.ts')).href;
const vendorOfTests = `export { startVerifierVendor as startVendor, vendorsAddresses as addresses } from '${double}';`;
const files = { 'tests/conformance.test.ts': tests, 'tests/vendor.ts': vendorOfTests };
const folder = writePlugin(dataDir, 'acme/check', { code, manifest, files });

test('its tests play every rule, in Node’s own test runner', { timeout: 300_000 }, async () => {
  const run = promisify(execFile)(process.execPath, [path.join(ROOT, 'scripts/plugin.ts'), 'test', folder], {
    cwd: ROOT,
  });
  const { stdout } = await run.catch((error: unknown) => {
    throw new Error(String(Reflect.get(Object(error), 'stdout')), { cause: error });
  });
  expect(stdout).toMatch(/pass 22\b/);
  expect(stdout).toMatch(/fail 0\b/);
});

test(
  'a list is verified by it, and a server whose key the vendor refuses is not stored',
  { timeout: 300_000 },
  async () => {
    const vendor = await startVerifierVendor();
    afterFile(() => vendor.close());
    const { url } = await createTestDatabase();
    const program = await startProgram({ DATABASE_URL: url, DATA_DIR: dataDir });
    const client = pluginClient(program);
    expect(await client.activate('acme/check')).toMatchObject({ status: 'ACTIVE', error: null });
    const call = async (verb: string, place: string, body?: object) => {
      const answer = await fetch(`${program.baseUrl}/api/v1${place}`, {
        method: verb,
        headers: { Authorization: `Bearer ${program.token}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json() };
    };
    const server = { name: 'Acme', type: 'acme-check', settings: { ...vendor.settings, api_key: 'sk-wrong-key' } };
    const refused = await call('POST', '/email_verification_servers', server);
    expect(refused).toMatchObject({
      status: 422,
      body: { errors: { connection: [expect.stringContaining('Acme answered 401')] } },
    });
    expect(JSON.stringify(refused.body)).toContain('Check the credentials');
    expect(JSON.stringify(refused.body)).not.toContain('sk-wrong-key');
    const right = { ...server, settings: { ...vendor.settings, api_key: VERIFIER_KEY } };
    expect((await call('POST', '/email_verification_servers', right)).status).toBe(201);
    const { list_uid: list } = (await call('POST', '/lists', LIST_BODY)).body;
    for (const address of Object.values(vendorsAddresses))
      await call('POST', '/subscribers', { list_uid: list, EMAIL: address(1) });
    const { verification_uid: uid } = (await call('POST', `/lists/${list}/verify`, {})).body;
    const done = await until(async () => {
      const { verification } = (await call('GET', `/verifications/${uid}`)).body;
      return verification.status === 'done' ? verification : undefined;
    });
    expect(done).toMatchObject({ processed: 4, deliverable: 1, undeliverable: 1, risky: 1, unknown: 1 });
    expect(vendor.asked()).toHaveLength(4);
  },
);
