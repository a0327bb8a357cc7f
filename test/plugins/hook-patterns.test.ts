/** The hooks of specification 6.4 by plugins in folders, as requests to the running product see them. */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { pluginClient, type Answered } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startRestApp } from '../support/rest-app.ts';

const dataDir = newDataDir();
const app = await startRestApp({ DATA_DIR: dataDir, ROLES: 'web,worker' });
const client = pluginClient({ baseUrl: app.baseUrl, token: app.adminToken });
const reasonOf = ({ fields = [] }: Answered) => fields.flatMap(({ messages }) => messages).join(' ');

const heard: string[] = [];
Object.assign(globalThis, { heardByPlugins: heard });
const heardOf = (what: string) => heard.filter((line) => line.startsWith(what));

interface Parts {
  readonly register?: string;
  readonly boot?: string;
  readonly versions?: string;
}

function write(plugin: string, { boot = '', register = '', versions = '{}' }: Parts): void {
  const code = `
    const hear = (...what) => void globalThis.heardByPlugins.push(what.join(' '));
    export const plugin = {
      name: '${plugin}', versions: ${versions}, register(hooks) { ${register} }, boot(hooks) { ${boot} } };`;
  writePlugin(dataDir, plugin, { code });
}

async function activate(plugin: string, phases: Parts): Promise<void> {
  write(plugin, phases);
  expect(await client.activate(plugin)).toMatchObject({ status: 'ACTIVE', error: null });
}

async function labels(page: string, slot?: string): Promise<string[]> {
  const asked = slot === undefined ? `page: "${page}"` : `page: "${page}", slot: "${slot}"`;
  const answer = await client.graphql(`{ it: extensionSlots(${asked}) {
    ... on ExtensionSlotsSuccess { nodes { label } } } }`);
  const { nodes } = answer['it'] as unknown as { nodes: { label: string }[] };
  return nodes.map(({ label }) => label);
}

async function post(path: string, body: object = {}) {
  const answer = await app.rest(path, { method: 'POST', body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body as Record<string, string>;
}

async function newCustomer(): Promise<{ uid: string; email: string }> {
  const email = `${newUid()}@patterns.example`;
  const names = { first_name: 'Ada', last_name: 'Byron' };
  const { customer_uid: uid = '' } = await post('/customers', { email, password: 'correct horse battery', ...names });
  return { uid, email };
}

const newPlan = async (name: string) => {
  const free = { price: 0, currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' };
  return (await post('/plans', { name, ...free }))['plan_uid'] ?? '';
};

beforeAll(async () => {
  const listeners = `
    hooks.on('customer_added', async ({ uid, email, firstName }) => { hear('listener', uid, email, firstName); return 'discarded'; });
    hooks.on('plan_changed', ({ customerUid, newPlanUid }) => hear('plan', customerUid, newPlanUid));
    hooks.on('subscription_terminated', ({ uid, customerUid }) => hear('terminated', customerUid, uid));
    hooks.on('ai_task_completed', ({ task }) => hear('task', task));`;
  await activate('acme/hears', { boot: listeners });
  await activate('acme/throws', {
    boot: `hooks.on('customer_added', ({ uid }) => { hear('thrown', uid); throw new Error('no'); });`,
  });
  await activate('zed/hears', { boot: `hooks.on('customer_added', ({ uid }) => hear('last', uid));` });
});

test('REGISTRY: what every plugin adds is merged', async () => {
  const entry = (
    title: string,
  ) => `hooks.add('page.campaigns.show.top', { title: '${title}', href: '/', audience: 'admin' });
    hooks.add('admin.sidebar.groups', { label: '${title}', items: [] });`;
  await activate('acme/adds', { boot: entry('One') });
  await activate('other/adds', { boot: entry('Two') });
  expect(await labels('campaigns.show', 'top')).toEqual(['One', 'Two']);
  expect(await labels('admin')).toEqual(expect.arrayContaining(['One', 'Two']));
});

test('EVENT customer_added: all listeners get the customer; what they return or throw changes nothing', async () => {
  const { uid, email } = await newCustomer();
  await expect.poll(() => heardOf(`last ${uid}`), { timeout: 120_000 }).toHaveLength(1);
  expect(heardOf('listener').at(-1)).toBe(`listener ${uid} ${email} Ada`);
  expect(heardOf(`thrown ${uid}`)).toHaveLength(1);
  expect((await app.rest(`/customers/${uid}`)).status).toBe(200);
});

test('EVENTs plan_changed and subscription_terminated', async () => {
  const { uid } = await newCustomer();
  const [small, large] = [await newPlan('Small'), await newPlan('Large')];
  await post(`/customers/${uid}/assign-plan/${small}`, { disable_billing: true });
  await post(`/customers/${uid}/change-plan/${large}`);
  await expect
    .poll(() => heardOf(`plan ${uid}`), { timeout: 120_000 })
    .toEqual([`plan ${uid} ${small}`, `plan ${uid} ${large}`]);
  const [subscription] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`SELECT s.uid FROM subscription s JOIN customer c ON c.id = s.customer_id WHERE c.uid = ${uid}`,
  );
  const subscriptionUid = subscription?.uid ?? '';
  await post(`/subscriptions/${subscriptionUid}/terminate`);
  await expect
    .poll(() => heardOf(`terminated ${uid}`), { timeout: 120_000 })
    .toEqual([`terminated ${uid} ${subscriptionUid}`]);
});

test('EVENT ai_task_completed is fired by a plugin, and so is one that a plugin declares', async () => {
  const declares = `{ 'acme-own.done': { pattern: 'EVENT' } }`;
  const fires = `hooks.on('customer_added', async ({ uid }) => {
    await hooks.calls.fire('ai_task_completed', { task: 'subject for ' + uid });
    await hooks.calls.fire('acme-own.done', uid);
  });`;
  for (const [plugin, boot] of [
    ['acme/own', fires],
    ['other/own', `hooks.on('acme-own.done', (uid) => hear('own', uid));`],
  ] as const) {
    const code = `const hear = (...what) => void globalThis.heardByPlugins.push(what.join(' '));
      export const plugin = { name: '${plugin}', declares: ${declares}, boot(hooks) { ${boot} } };`;
    writePlugin(dataDir, plugin, { code });
    expect(await client.activate(plugin)).toMatchObject({ status: 'ACTIVE' });
  }
  const { uid } = await newCustomer();
  await expect.poll(() => heardOf(`own ${uid}`), { timeout: 120_000 }).toHaveLength(1);
  expect(heardOf('task')).toContain(`task subject for ${uid}`);
});

test('BEHAVIOR dispatch_list_import_job: one plugin performs it, a second claim is refused and names both', async () => {
  await activate('acme/imports', {
    boot: `hooks.set('dispatch_list_import_job', async ({ listUid, run }) => { hear('import', listUid); await run(); });`,
  });
  write('other/imports', { boot: `hooks.set('dispatch_list_import_job', ({ run }) => run());` });
  const refused = reasonOf(await client.activate('other/imports'));
  expect(refused).toContain('"acme/imports"');
  expect(refused).toContain('"other/imports"');
  expect(await client.plugin('other/imports')).toMatchObject({ status: 'INACTIVE', isLive: false });
  // Only where nobody has set it.
  await activate('third/imports', {
    boot: `hooks.setIfEmpty('dispatch_list_import_job', ({ run }) => { hear('third'); return run(); });`,
  });
  const [one, two] = [await importOne(), await importOne(() => client.deactivate('acme/imports'))];
  expect(heardOf('import')).toEqual([`import ${one}`]);
  expect(heardOf('third')).toHaveLength(1);
  expect(two).not.toBe(one);
});

/** Imports one person into a new list, and waits until it is done. */
async function importOne(before: () => Promise<unknown> = async () => undefined): Promise<string> {
  await before();
  const { token } = await app.newTenant();
  const made = await app.rest('/lists', { method: 'POST', token, body: LIST_BODY });
  const { list_uid: listUid } = made.body as { list_uid: string };
  const form = new FormData();
  form.append('file', new Blob(['email\nada@people.example\n']), 'people.csv');
  const sent = await app.rest(`/lists/${listUid}/import`, { method: 'POST', body: form, token });
  const { import_uid: uid } = sent.body as { import_uid: string };
  const read = async () => (await app.rest(`/lists/${listUid}/imports/${uid}`, { token })).body;
  await expect.poll(read, { timeout: 120_000 }).toMatchObject({ import: { status: 'done', added: 1 } });
  return listUid;
}

test('FILTER sidebar-menu-items: each callback gets the value that the one before has returned', async () => {
  const item = (label: string) => `{ label: ${label}, href: '/', audience: 'admin' }`;
  await activate('acme/menu', {
    boot: `hooks.modify('sidebar-menu-items', (items) => [...items, ${item(`'First'`)}]);`,
  });
  await activate('zed/menu', {
    boot: `hooks.modify('sidebar-menu-items', (items) => items.map(({ label }) => (${item(`label + ' and second'`)})));`,
  });
  expect(await labels('sidebar', 'menu-items')).toEqual(['First and second']);
});

test('REGISTRYs of the register phase: drivers, their family and translations; layout files', async () => {
  await activate('acme/driver', {
    register: `
      hooks.add('register_sending_server_driver', {
        type: 'acme-mail', name: 'Acme mail', description: 'Sends by Acme.', configKeys: [], secretKeys: [],
        iconUrl: '/plugins/acme/driver/files/icon.svg', color: '#3366ff',
        validate: () => ({ ok: true, settings: {} }), connect: () => { throw new Error('none'); },
      });
      hooks.add('register_sending_server_icons', { type: 'acme-mail' });
      hooks.add('add_translation_file', { language: 'en', texts: { title: 'Translated' } });`,
    boot: `
      hooks.add('admin.sidebar.groups', { label: { key: 'title' }, items: [] });
      hooks.add('layout.head.assets', { kind: 'stylesheet', href: '/plugins/acme/driver/files/a.css', audience: 'admin' });
      hooks.add('layout.body.before_close', { kind: 'script', href: '/plugins/acme/driver/files/a.js', audience: 'admin' });`,
  });
  const types = await client.graphql(
    '{ it: sendingServerTypes { ... on SendingServerTypesSuccess { nodes { type name description iconUrl color createUrl } } } }',
  );
  expect(types).toMatchObject({
    it: {
      nodes: expect.arrayContaining([
        {
          ...{ type: 'acme-mail', name: 'Acme mail', description: 'Sends by Acme.', color: '#3366ff' },
          ...{ iconUrl: '/plugins/acme/driver/files/icon.svg', createUrl: '/sending_servers/create/acme-mail' },
        },
      ]),
    },
  });
  expect(await labels('admin')).toContain('Translated');
  const layout = await client.graphql(
    '{ it: extensionSlots(page: "layout") { ... on ExtensionSlotsSuccess { nodes { slot href } } } }',
  );
  expect(JSON.stringify(layout)).toMatch(/head\.assets.*a\.css.*body\.before_close.*a\.js/);
});

test.for([
  ['boot', `hooks.add('add_translation_file', { language: 'en', texts: {} });`, 'belongs in register()'],
  ['boot', `hooks.add('register_sending_server_icons', {});`, 'belongs in register()'],
  ['register', `hooks.on('customer_added', () => undefined);`, 'belongs in boot()'],
  ['boot', `hooks.on('customer_aded', () => undefined);`, '"customer_added"'],
  ['versions', `{ customer_added: 2 }`, 'Upgrade Mailwright'],
] as const)(
  'what is registered in the wrong phase, or is unknown, is refused: %s %s',
  async ([phase, code, reason]) => {
    const isVersion = phase === 'versions';
    write(
      'wrong/phase',
      isVersion ? { versions: code, boot: `hooks.on('customer_added', () => undefined);` } : { [phase]: code },
    );
    expect(reasonOf(await client.activate('wrong/phase'))).toContain(reason);
    expect(await client.plugin('wrong/phase')).toMatchObject({ status: 'INACTIVE', isLive: false });
  },
);
