/** A plugin of the test's own that writes down every EVENT that is fired, so that tests see what their plugin fires and hears. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CONTRACT_VERSION } from '../../src/plugin-api/index.ts';
import { knownHooks } from '../../src/plugin-host/known-hooks.ts';
import type { ReadPlugin } from './read-plugin.ts';

export const OBSERVER = 'plugintestobserver/observed';

/** Writes it into the data directory. */
export async function writeObserver(
  dataDir: string,
  firedFile: string,
  { fullName, plugin: { declares = {} } }: ReadPlugin,
): Promise<void> {
  const known = Object.entries(knownHooks).filter(([, { pattern, family }]) => pattern === 'EVENT' && !family);
  const declared = Object.entries(declares).filter(([, { pattern }]) => pattern === 'EVENT');
  const hooks = [
    ...known.map(([name]) => name),
    ...[`activate_plugin_${fullName}`, `delete_plugin_${fullName}`],
    ...declared.map(([name]) => name),
  ];
  const versions = Object.fromEntries(known.map(([name, { version }]) => [name, version]));
  const folder = path.join(dataDir, 'plugins', OBSERVER);
  await mkdir(folder, { recursive: true });
  const own = new Set(declared.map(([name]) => name));
  const manifest = {
    contract: CONTRACT_VERSION,
    title: 'Observer of the tests',
    hooks: hooks.filter((name) => !own.has(name)),
  };
  const packageJson = {
    name: `@${OBSERVER}`,
    version: '1.0.0',
    type: 'module',
    exports: './index.ts',
    mailwright: manifest,
  };
  await writeFile(path.join(folder, 'package.json'), JSON.stringify(packageJson));
  await writeFile(
    path.join(folder, 'index.ts'),
    codeOf({ hooks, versions, declares: Object.fromEntries(declared), firedFile }),
  );
}

function codeOf(facts: object): string {
  return `
import { appendFileSync } from 'node:fs';
const { hooks: names, versions, declares, firedFile } = ${JSON.stringify(facts)};
const plain = (key, value) => (typeof value === 'bigint' ? String(value) : value);
export const plugin = {
  name: '${OBSERVER}',
  versions,
  declares,
  boot(hooks) {
    for (const hook of names)
      hooks.on(hook, (...args) => appendFileSync(firedFile, JSON.stringify({ hook, args }, plain) + '\\n'));
  },
};
`;
}
