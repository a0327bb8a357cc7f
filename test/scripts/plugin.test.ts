/** `npm run plugin`: new, test and pack, as an author of plugins runs them. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isSignedBy } from '../../src/lib/signature.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { runScript, startScript } from '../support/run-script.ts';

const dataDir = newDataDir();
/** Where the installations of the tests are; when run as root, the database's user must be able to enter. */
const temporary = path.join(dataDir, 'temporary');
mkdirSync(temporary);
chmodSync(dataDir, 0o755);
const settings = { DATA_DIR: dataDir, TMPDIR: temporary };
const plugin = (...words: string[]) => runScript('plugin', words, settings);
const EXAMPLE = path.resolve('plugins/example/hello');

/** All texts of a folder, by their paths. */
function filesOf(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => path.join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [path.relative(folder, file), readFileSync(file, 'utf8')]));
}

/** As an author does who copies the example. */
function renamed(text: string): string {
  const names = { example: 'garden', Example: 'Garden', EXAMPLE: 'GARDEN', hello: 'greetings' };
  return Object.entries(names).reduce((renaming, [from, to]) => renaming.replaceAll(from, to), text);
}

test('new writes a plugin whose tests pass, and that compiles', async () => {
  const made = await plugin('new', 'acme-tools/first-notes');
  expect(made, made.text).toMatchObject({ code: 0 });
  const folder = path.join(dataDir, 'plugins/acme-tools/first-notes');
  expect(made.text).toContain(`npm run plugin -- test ${folder}`);
  const files = filesOf(folder);
  expect([...files.values()].join('')).not.toMatch(/vendorname|pluginname|Plugin title/);
  expect(files.get('database/migrations/0001_notes.sql')).toContain('CREATE TABLE acme_tools_first_notes_note');

  const tested = await plugin('test', folder);
  expect(tested, tested.text).toMatchObject({ code: 0 });
  expect(tested.text).toMatch(/pass 3/);

  const tsc = path.resolve('node_modules/.bin/tsc');
  expect(execFileSync(tsc, ['-p', folder], { encoding: 'utf8' })).toBe('');
  const wrong = `import { definePlugin } from 'mailwright/plugin-api';\nexport const wrong = definePlugin({ names: 'x' });\n`;
  writeFileSync(path.join(folder, 'wrong.ts'), wrong);
  expect(() => execFileSync(tsc, ['-p', folder], { encoding: 'utf8' })).toThrow(/Command failed/);
});

test('new refuses what cannot be a plugin, and folders that exist', async () => {
  mkdirSync(path.join(dataDir, 'plugins/acme/taken'), { recursive: true });
  for (const [name, reason] of [
    ['acme', 'must be <vendor>/<name>'],
    ['acme/a/b', 'must be <vendor>/<name>'],
    ['Acme/notes', 'The folder "Acme" must have a name of small letters'],
    ['../notes', 'must have a name of small letters'],
    ['acme/lists', '/api/v1/lists belongs to the product'],
    ['mailwright/notes', 'is that of the product itself'],
    ['acme/taken', 'exists already'],
    ['mail/notes', 'The prefix "mail_" of its tables is taken: the table mail_'],
    ['campaign/notes', 'The prefix "campaign_" of its tables is taken'],
  ] as const) {
    const refused = await plugin('new', name);
    expect(refused, name).toMatchObject({ code: 1 });
    expect(refused.text).toContain(reason);
    expect(refused.text).not.toMatch(/\n {4}at /);
  }
  expect(readdirSync(path.join(dataDir, 'plugins/acme'))).toEqual(['taken']);
  expect(existsSync(path.join(dataDir, 'notes'))).toBe(false);
});

test('new writes elsewhere with --path, and says how Mailwright finds it', async () => {
  const folder = path.join(dataDir, 'elsewhere/notes-1.0.0');
  const made = await plugin('new', 'acme/notes', '--path', folder);
  const installed = path.join(dataDir, 'plugins/acme/notes');
  expect(made.text).toContain(`mkdir -p ${path.dirname(installed)} && ln -s ${folder} ${installed}`);
  expect([...filesOf(folder).keys()]).toContain('package.json');
  expect(existsSync(path.join(dataDir, 'plugins/acme/notes'))).toBe(false);
});

test('the tests of the example pass, also under another name', async () => {
  const bundled = await plugin('test', EXAMPLE);
  expect(bundled, bundled.text).toMatchObject({ code: 0 });
  const copy = path.join(dataDir, 'plugins/garden/greetings');
  cpSync(EXAMPLE, copy, { recursive: true });
  for (const [file, text] of filesOf(copy)) writeFileSync(path.join(copy, file), renamed(text));
  const tested = await plugin('test', copy);
  expect(tested, tested.text).toMatchObject({ code: 0 });
});

test('the example has at most 200 lines', () => {
  const lines = [...filesOf(EXAMPLE).values()].map((text) => text.split('\n').length - 1);
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(200);
});

test('a test that fails is the exit code; what cannot be tested is told in a sentence', async () => {
  const folder = writePlugin(dataDir, 'acme/fails', {
    files: {
      'tests/one.test.ts': `import { test } from 'node:test';
        import { installation } from 'mailwright/plugin-testing';
        test('fails', async () => { throw new Error((await installation().rest('/plugins')).status + ' seen'); });`,
    },
  });
  const failed = await plugin('test', folder);
  expect(failed).toMatchObject({ code: 1 });
  expect(failed.text).toContain('200 seen');
  for (const [name, files, reason] of [
    ['acme/none', {}, 'There are no tests'],
    ['acme/broken', { code: 'throw new Error("no luck");' }, 'no luck'],
    [
      'acme/boots',
      {
        code: `export const plugin = { name: 'acme/boots', boot() { throw new Error('no boots'); } };`,
        files: { 'tests/a.test.ts': '' },
      },
      'no boots',
    ],
  ] as const) {
    const refused = await plugin('test', writePlugin(dataDir, name, files));
    expect(refused, name).toMatchObject({ code: 1 });
    expect(refused.text).toContain(reason);
    expect(refused.text).not.toMatch(/\n {4}at /);
  }
  expect((await plugin('test', path.join(dataDir, 'gone'))).text).toContain('There is no folder');
});

test('the tests of a plugin run with all that it asks for, and the commands name it', async () => {
  const folder = writePlugin(dataDir, 'acme/asks', {
    rights: { scopes: ['lists:read', 'campaigns:read'], customers: 'all', hosts: ['api.example.com'] },
    files: {
      'tests/one.test.ts': `import { test } from 'node:test';
        import { installation } from 'mailwright/plugin-testing';
        test('is activated again', async () => { await installation().deactivate(); await installation().activate(); });`,
    },
  });
  const tested = await plugin('test', folder);
  expect(tested, tested.text).toMatchObject({ code: 0 });
  const packed = await plugin('pack', folder, '--out', path.join(dataDir, 'asks.tgz'));
  expect(packed.text).toContain(
    '/plugins/acme/asks/activate -d scopes=campaigns:read,lists:read -d hosts=api.example.com -d for_all_customers=true',
  );
});

test('a syntax error is told with its file and line', async () => {
  const code = `import './part.ts';\nexport const plugin = { name: 'acme/enum' };`;
  for (const [part, reason] of [
    ['\nenum Colour { Red }', 'part.ts, line 2: TypeScript enum is not supported'],
    ['\n\nconst = 1;', 'part.ts, line 3:'],
  ] as const) {
    const refused = await plugin('test', writePlugin(dataDir, 'acme/enum', { code, files: { 'part.ts': part } }));
    expect(refused.text).toContain(reason);
  }
});

test('nothing of an installation stays, also when the tests are stopped', async () => {
  const running = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(temporary);
  expect(readdirSync(temporary)).toEqual([]);
  const child = startScript('plugin', ['test', EXAMPLE], settings);
  await expect.poll(running).toBe(true);
  child.kill('SIGTERM');
  await once(child, 'close');
  expect(child.exitCode).not.toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
  expect(running()).toBe(false);
});

test('pack makes the same archive of the same files, without what is only of use to the author', async () => {
  const nested = { name: 'lib', version: '1.0.0', dependencies: { deep: '1' } };
  const folder = writePlugin(dataDir, 'acme/packed', {
    manifest: {
      ...{ name: '@acme/packed', version: '1.2.0', type: 'module', exports: './index.ts', mailwright: { contract: 1 } },
      ...{ dependencies: { lib: '1' }, devDependencies: { tool: '1' } },
    },
    migrations: { '1_a.sql': 'CREATE TABLE acme_a (id int);' },
    files: {
      'node_modules/lib/package.json': JSON.stringify(nested),
      'node_modules/lib/node_modules/deep/package.json': '{"name":"deep"}',
      'node_modules/tool/package.json': '{"name":"tool"}',
      'node_modules/.bin/tool': '',
      'tests/one.test.ts': '',
      '.env': 'SECRET=1',
      'tsconfig.json': '{}',
      [`src/${'long-'.repeat(18)}/${'name-'.repeat(18)}.ts`]: '// long',
    },
  });
  const out = path.join(dataDir, 'packed.tgz');
  const packed = await plugin('pack', folder, '--out', out);
  expect(packed, packed.text).toMatchObject({ code: 0 });
  const sha256 = createHash('sha256').update(readFileSync(out)).digest('hex');
  expect(packed.text).toContain(`-d sha256=${sha256}`);
  const listed = execFileSync('tar', ['tzf', out], { encoding: 'utf8' }).trim().split('\n');
  expect(listed).toEqual([
    ...['database/migrations/1_a.sql', 'index.ts', 'node_modules/lib/node_modules/deep/package.json'],
    ...['node_modules/lib/package.json', 'package.json', `src/${'long-'.repeat(18)}/${'name-'.repeat(18)}.ts`],
  ]);
  const unpacked = path.join(dataDir, 'unpacked');
  mkdirSync(unpacked);
  execFileSync('tar', ['xzf', out, '-C', unpacked]);
  for (const [file, text] of filesOf(unpacked)) expect(text).toBe(readFileSync(path.join(folder, file), 'utf8'));

  utimesSync(path.join(folder, 'index.ts'), 1, 1);
  const copy = path.join(dataDir, 'copy');
  cpSync(folder, copy, { recursive: true });
  await plugin('pack', copy, '--out', out);
  expect(createHash('sha256').update(readFileSync(out)).digest('hex')).toBe(sha256);
  await plugin('pack', folder, '--out', out, '--with-tests');
  expect(execFileSync('tar', ['tzf', out], { encoding: 'utf8' })).toContain('tests/one.test.ts');
});

test('pack signs, so that an installation that trusts the key takes it', async () => {
  const folder = writePlugin(dataDir, 'acme/signed');
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = path.join(dataDir, 'key.pem');
  writeFileSync(key, privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const out = path.join(dataDir, 'signed.tgz');
  const { text } = await plugin('pack', folder, '--out', out, '--sign', key);
  const [, signature = ''] = /signature {2}(\S+)/.exec(text) ?? [];
  const [, publicKey = ''] = /its key {4}(\S+)/.exec(text) ?? [];
  expect(isSignedBy([publicKey], readFileSync(out), signature)).toBe(true);
  expect(isSignedBy([publicKey], Buffer.concat([readFileSync(out), Buffer.from('x')]), signature)).toBe(false);
  expect((await plugin('pack', folder, '--sign', path.join(dataDir, 'none.pem'))).text).toContain('openssl genpkey');
  expect((await plugin('pack', folder, '--sign', out)).text).toContain('is no Ed25519 key');
});

test('pack refuses what an installation would refuse', async () => {
  const link = writePlugin(dataDir, 'acme/link');
  symlinkSync('/etc/hostname', path.join(link, 'host'));
  const many = writePlugin(dataDir, 'acme/many', {
    files: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`data/${index}`, ''])),
  });
  const missing = { name: '@acme/missing', version: '1.0.0', type: 'module', exports: './index.ts' };
  for (const [folder, reason] of [
    [link, 'host is a link'],
    [many, 'an archive may have 2000'],
    [
      writePlugin(dataDir, 'acme/missing', {
        manifest: { ...missing, mailwright: { contract: 1 }, dependencies: { gone: '1' } },
      }),
      'Run "npm install"',
    ],
    [
      writePlugin(dataDir, 'acme/contract', {
        manifest: { ...missing, name: 'acme/contract', mailwright: { contract: 7 } },
      }),
      'Upgrade Mailwright',
    ],
    [writePlugin(dataDir, 'acme/sql', { migrations: { 'wrong.sql': '' } }), 'wrong.sql is no migration'],
  ] as const) {
    const refused = await plugin('pack', folder, '--out', path.join(dataDir, 'refused.tgz'));
    expect(refused, reason).toMatchObject({ code: 1 });
    expect(refused.text).toContain(reason);
  }
  expect(existsSync(path.join(dataDir, 'refused.tgz'))).toBe(false);
});
