/**
 * Who may import whom: the table of docs/ARCHITECTURE.md as data. Change both together, with a decision record.
 * A module may always import itself, and npm packages unless `packagesNever` names them.
 */
export interface ModuleRule {
  /** Imports point downwards only: every allowed module has a lower level. */
  readonly level: number;
  /** Modules it may import; `domain/*` is every module of the domain. */
  readonly may: readonly string[];
  /** Modules of which it may import types only. */
  readonly typesOf?: readonly string[];
  /** Allowed only in some of the module's files, by path. */
  readonly onlyFrom?: Readonly<Record<string, RegExp>>;
  readonly packagesNever?: RegExp;
}

/** What every domain module may import. */
const means = ['domain/context', 'events', 'jobs', 'db', 'plugin-api', 'lib'];

const databasePackages = /^(pg|pg-copy-streams|graphile-worker|@prisma\/.*)$/;

export const modules: Readonly<Record<string, ModuleRule>> = {
  main: { level: 14, may: ['app', 'config', 'parent'] },
  app: {
    level: 13,
    may: [
      ...['schema', 'workers', 'domain/*', 'inbound', 'inbox', 'http', 'rest-facade', 'plugin-host', 'release-host'],
      ...['events', 'jobs', 'db', 'config', 'parent', 'plugin-api', 'generated', 'lib'],
    ],
  },
  schema: {
    level: 12,
    may: ['domain/*', 'db', 'plugin-api', 'generated', 'lib'],
    // The frame (builder, context, transport) and the loaders; never a noun's folder: resolvers call verbs.
    onlyFrom: { db: /^src\/schema\/([a-z-]+\.ts|loaders\/)/ },
  },
  workers: { level: 12, may: ['domain/*', 'events', 'jobs', 'lib'] },
  'domain/automations': {
    level: 10,
    may: ['campaigns', 'delivery', 'webhooks', 'audience', 'messages', 'content', 'billing', 'accounts']
      .map(inDomain)
      .concat(means),
  },
  'domain/installation': {
    level: 11,
    may: ['automations', 'campaigns', 'messages', 'accounts'].map(inDomain).concat(means),
  },
  'domain/campaigns': {
    level: 9,
    may: ['delivery', 'statistics', 'audience', 'content', 'files', 'sending', 'billing', 'messages', 'accounts']
      .map(inDomain)
      .concat(means),
  },
  inbound: {
    level: 9,
    may: [
      ...['bounces', 'tracking', 'audience', 'files', 'sending', 'billing', 'plugins', 'accounts', 'context'].map(
        inDomain,
      ),
      'lib',
    ],
    typesOf: ['plugin-api', 'http'],
  },
  'domain/delivery': {
    level: 8,
    may: ['tracking', 'statistics', 'content', 'audience', 'files', 'sending', 'billing', 'messages', 'accounts']
      .map(inDomain)
      .concat(means),
  },
  'domain/bounces': {
    level: 8,
    may: ['tracking', 'statistics', 'audience', 'sending', 'billing', 'accounts'].map(inDomain).concat(means),
  },
  'domain/tracking': { level: 7, may: ['statistics', 'audience', 'sending', 'accounts'].map(inDomain).concat(means) },
  'domain/verification': { level: 7, may: ['audience', 'sending', 'billing', 'accounts'].map(inDomain).concat(means) },
  'domain/webhooks': {
    level: 7,
    may: ['statistics', 'audience', 'content', 'billing', 'accounts'].map(inDomain).concat(means),
  },
  'domain/audience': {
    level: 6,
    may: ['billing', 'messages', 'accounts', 'content', 'flow-uses'].map(inDomain).concat(means),
  },
  'domain/files': { level: 6, may: ['billing', 'accounts'].map(inDomain).concat(means) },
  'domain/sending': { level: 6, may: ['billing', 'accounts', 'flow-uses'].map(inDomain).concat(means) },
  'domain/statistics': { level: 5, may: ['domain/accounts', ...means] },
  'domain/content': { level: 5, may: ['domain/accounts', 'domain/flow-uses', ...means] },
  'domain/billing': { level: 5, may: ['domain/accounts', ...means] },
  'domain/plugins': { level: 5, may: ['domain/accounts', ...means] },
  // What is to be sent outside of campaigns: whatever causes a message enqueues it there.
  'domain/messages': { level: 4, may: means },
  'domain/accounts': { level: 4, may: means },
  // Which flows use what: whoever deletes something asks there, far below the flows themselves.
  'domain/flow-uses': { level: 4, may: means },
  // The files directly in src/domain: types that every verb uses.
  'domain/context': { level: 3, may: ['lib'], typesOf: ['jobs', 'db', 'plugin-api'] },
  inbox: { level: 3, may: ['db', 'lib'], typesOf: ['http', 'config'] },
  // The process that starts the program: nothing of the product, so that what ends the program does not end it.
  parent: { level: 2, may: ['db', 'lib'] },
  events: { level: 2, may: ['db', 'lib'] },
  jobs: { level: 2, may: ['db', 'lib'] },
  http: { level: 2, may: ['config', 'lib'] },
  'release-host': { level: 2, may: ['lib'] },
  'plugin-host': { level: 2, may: ['plugin-api', 'lib'] },
  // What tests of plugins import. Nothing of the product imports it.
  'plugin-testing': { level: 2, may: ['plugin-api', 'lib'], packagesNever: databasePackages },
  plugins: { level: 2, may: ['plugin-api'], packagesNever: databasePackages },
  // It has no privileges: no database handle, no resolver, no verb. `app` hands it `execute`.
  'rest-facade': { level: 1, may: ['generated', 'lib'], packagesNever: databasePackages },
  db: { level: 1, may: ['generated', 'lib'] },
  config: { level: 1, may: ['lib'] },
  'plugin-api': { level: 1, may: ['lib'] },
  generated: { level: 0, may: [] },
  lib: { level: 0, may: [], packagesNever: databasePackages },
};

/** Programs around the product: they may import whatever they need, and nothing of the product imports them. */
export const programs = ['scripts', 'bench', 'test', 'web'];

/** Among the programs, helpers are shared in this direction only. */
export const programsMay: Readonly<Record<string, readonly string[]>> = {
  test: ['scripts', 'bench'],
  bench: ['scripts'],
};

function inDomain(noun: string): string {
  return `domain/${noun}`;
}
