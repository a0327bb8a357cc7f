/**
 * What 50 active plugins add to a start and to memory: the product is started in turns with them and with SAFE_MODE, which loads none.
 *
 *   node bench/plugins.ts [--smoke] [--plugins 50] [--rounds 5]
 *
 * Each plugin has a FILTER, two listeners, entries of menus, a job, a timetable, translations, and a type, a field and a mutation of GraphQL. A start ends when
 * `/readyz` answers; memory is that of the process after its first GraphQL answer. Fails where the medians differ by 1 s or 100 MB; not
 * with `--smoke`.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startBenchDatabase } from './support/bench-database.ts';
import { median } from './support/median.ts';
import { startProduct, type Product } from './support/product.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    plugins: { type: 'string' },
    rounds: { type: 'string' },
  },
});
// The size of the database does not matter here.
process.env['LIVED_IN_SCALE'] ??= '0';
const PLUGINS = Number(values.plugins ?? (values.smoke ? 3 : 50));
const ROUNDS = Number(values.rounds ?? (values.smoke ? 1 : 5));
const START_MS_GOAL = 1_000;
const MEMORY_MB_GOAL = 100;

interface Figures {
  readonly startMs: number;
  readonly megabytes: number;
}

const HOOKS = [
  'activate_plugin_<name>',
  'customer_added',
  'sidebar-menu-items',
  'admin.sidebar.groups',
  'graphql_part',
  'job',
  'cron_line',
  'add_translation_file',
];

function writePlugins(dataDir: string): string[] {
  return Array.from({ length: PLUGINS }, (_, number) => {
    const name = `bench/part-${number}`;
    const folder = path.join(dataDir, 'plugins', name);
    mkdirSync(folder, { recursive: true });
    const hooks = HOOKS.map((hook) => hook.replace('<name>', name));
    const manifest = {
      name,
      version: '1.0.0',
      type: 'module',
      exports: './index.ts',
      mailwright: { contract: 1, hooks },
    };
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(path.join(folder, 'index.ts'), codeOf(name, number));
    return name;
  });
}

function codeOf(name: string, number: number): string {
  return `
import { definePlugin } from 'mailwright/plugin-api';
const item = { label: { key: 'title' }, href: '/plugins/${name}' };
export const plugin = definePlugin({
  name: '${name}',
  register(hooks) {
    hooks.add('add_translation_file', { language: 'en', texts: { title: 'Part ${number}' } });
  },
  boot(hooks, { log }) {
    hooks.add('admin.sidebar.groups', { label: { key: 'title' }, items: [item] });
    hooks.add('job', { name: 'work', run: async () => undefined });
    hooks.add('cron_line', { name: 'hourly', line: '0 * * * *', run: async () => undefined });
    hooks.add('graphql_part', {
      schema: \`type BenchNote${number} { uid: ID! text: String! }
        extend type Query { benchNotes${number}: [BenchNote${number}!]! }
        extend type Mutation { benchAddNote${number}(text: String!): BenchNote${number}! }\`,
      access: { benchNotes${number}: 'authenticated', benchAddNote${number}: 'authenticated' },
      resolvers: {
        Query: { benchNotes${number}: () => [] },
        Mutation: { benchAddNote${number}: (_parent, { text }) => ({ uid: '1', text }) },
      },
    });
    hooks.on('activate_plugin_${name}', () => log.info('bench'));
    hooks.on('customer_added', () => undefined);
    hooks.modify('sidebar-menu-items', (items) => [...items, item]);
  },
});
`;
}

async function measure(url: string, settings: Readonly<Record<string, string>>): Promise<Figures> {
  const startedAt = performance.now();
  const product = await startProduct(url, settings);
  const startMs = performance.now() - startedAt;
  await askGraphql(product);
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${product.pid}/status`, 'utf8'))?.[1];
  await product.stop();
  return { startMs, megabytes: Number(resident) / 1_024 };
}

async function askGraphql({ url }: Product): Promise<void> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ __typename }' }),
  });
  await answer.text();
}

const database = await startBenchDatabase(values.smoke);
const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-bench-'));
try {
  const settings = { DATA_DIR: dataDir, ROLES: 'web,worker' };
  const product = await startProduct(database.url, settings);
  const names = writePlugins(dataDir);
  const activatedAt = performance.now();
  for (const name of names) await product.rest('POST', `/plugins/${name}/activate`);
  const activationMs = (performance.now() - activatedAt) / names.length;
  await product.stop();
  const figures: Record<'with' | 'without', Figures[]> = { with: [], without: [] };
  for (let round = 0; round < ROUNDS; round++) {
    figures.without.push(await measure(database.url, { ...settings, SAFE_MODE: '1' }));
    figures.with.push(await measure(database.url, settings));
  }
  const start = (what: 'with' | 'without') => median(figures[what].map(({ startMs }) => startMs));
  const memory = (what: 'with' | 'without') => median(figures[what].map(({ megabytes }) => megabytes));
  const [moreMs, moreMb] = [start('with') - start('without'), memory('with') - memory('without')];
  console.log(`${PLUGINS} plugins, ${ROUNDS} rounds; load ${(loadavg()[0] ?? 0).toFixed(1)}`);
  console.log(
    `start: ${start('without').toFixed(0)} ms without, ${start('with').toFixed(0)} ms with: ${moreMs.toFixed(0)} ms more`,
  );
  console.log(
    `memory: ${memory('without').toFixed(0)} MB without, ${memory('with').toFixed(0)} MB with: ${moreMb.toFixed(0)} MB more`,
  );
  console.log(`an activation: ${activationMs.toFixed(0)} ms`);
  if (!values.smoke && (moreMs >= START_MS_GOAL || moreMb >= MEMORY_MB_GOAL)) {
    console.log('NOT within the goals.');
    process.exitCode = 1;
  }
} finally {
  await database.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
