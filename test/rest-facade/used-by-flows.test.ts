/** What a published flow uses cannot be deleted, over REST and GraphQL; the refusal names the automation and its nodes (decision D86). */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;
const owner = await app.newTenant();

type Call = (method: string, path: string, body?: unknown) => ReturnType<typeof app.rest>;
interface World {
  readonly call: Call;
  readonly list: string;
  readonly template: string;
  readonly segment: string;
}

async function worldOf({ token }: RestTenant): Promise<World> {
  const call: Call = (method, path, body = {}) =>
    app.rest(path, { method, ...(method === 'GET' ? {} : { body }), token });
  const list = String(field(await call('POST', '/lists', { ...LIST_BODY, contact: CONTACT }), 'list_uid'));
  await call('POST', `/lists/${list}/add-field`, { type: 'date', label: 'Born', tag: 'BORN' });
  await call('POST', `/lists/${list}/add-field`, { type: 'text', label: 'Nick', tag: 'NICK' });
  const rule = { tags: { hasAny: ['vip'] } };
  const segment = await call('POST', `/lists/${list}/segments`, { name: 'VIPs', rule });
  const texts = { name: 'Hello', kind: 'marketing', subject: 'Hi {NICK}', html: '<p>Hello</p>' };
  const template = await call('POST', '/templates', texts);
  return {
    ...{ call, list },
    ...{ template: String(field(template, 'template_uid')), segment: String(field(segment, 'segment_uid')) },
  };
}

interface Parts {
  readonly triggers?: readonly object[];
  readonly nodes: readonly { readonly id: string; readonly type: string; readonly [name: string]: unknown }[];
  readonly goals?: readonly object[];
}

/** Publishes and activates it; answers the uid of the automation. */
async function begun({ call, list }: World, name: string, { triggers, nodes, goals }: Parts): Promise<string> {
  const ids = ['start', ...nodes.map(({ id }) => id)];
  const edges = ids.slice(1).map((to, no) => ({ from: ids[no], to }));
  const flow = { triggers: triggers ?? [{ type: 'execute' }], nodes, edges, ...(goals ? { goals } : {}) };
  const made = await call('POST', '/automations', { list_uid: list, name, flow });
  const uid = String(field(made, 'automation_uid'));
  const published = await call('POST', `/automations/${uid}/publish`, { draft_version: 1 });
  expect([published.status, published.text]).toEqual([200, expect.any(String)]);
  await call('POST', `/automations/${uid}/activate`);
  return uid;
}

async function codeOf(mutation: string): Promise<string> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query: `mutation { it: ${mutation} { ... on Error { code } } }` }),
  });
  const { data } = Object(await answer.json());
  return String(Object(Object(data).it).code);
}

interface Case {
  readonly what: string;
  readonly parts: (world: World) => Parts;
  readonly path: (world: World) => string;
  readonly mutation: (world: World) => string;
  readonly code: string;
  readonly places: string;
}

const REST = { id: 'rest', type: 'wait', for: { hours: 1 } };
const fieldRow = {
  path: ({ list }: World) => `/lists/${list}/fields/BORN`,
  mutation: ({ list }: World) => `deleteListField(listUid: "${list}", field: "BORN")`,
  code: 'FIELD_IN_USE',
};
const nickRow = {
  ...fieldRow,
  path: ({ list }: World) => `/lists/${list}/fields/NICK`,
  mutation: ({ list }: World) => `deleteListField(listUid: "${list}", field: "NICK")`,
};
const cases: readonly Case[] = [
  {
    what: 'a template',
    parts: ({ template }) => ({
      nodes: [
        { id: 'hello', type: 'send_mail', templateUid: template },
        REST,
        { id: 'again', type: 'send_mail', templateUid: template },
      ],
    }),
    path: ({ template }) => `/templates/${template}`,
    mutation: ({ template }) => `deleteTemplate(uid: "${template}")`,
    ...{ code: 'TEMPLATE_IN_USE', places: '(hello, again)' },
  },
  {
    what: 'a segment',
    parts: ({ segment }) => ({
      triggers: [{ type: 'execute' }, { type: 'segment_entered', segmentUid: segment }],
      nodes: [REST],
    }),
    path: ({ segment }) => `/segments/${segment}`,
    mutation: ({ segment }) => `deleteSegment(uid: "${segment}")`,
    ...{ code: 'SEGMENT_IN_USE', places: '(trigger 2)' },
  },
  {
    what: 'a field of a trigger and a node',
    parts: () => ({
      triggers: [{ type: 'date_field', field: 'BORN', at: '09:00', yearly: true }],
      nodes: [REST, { id: 'set', type: 'set_field', field: 'BORN', value: '' }],
    }),
    ...{ ...fieldRow, places: '(trigger 1, set)' },
  },
  {
    what: 'a field of rules',
    parts: () => ({
      triggers: [{ type: 'subscribed', if: { field: { tag: 'NICK', text: { is: 'x' } } } }],
      nodes: [{ id: 'ask', type: 'condition', if: { person: { field: { tag: 'NICK', text: { is: 'y' } } } } }],
      goals: [{ id: 'named', person: { field: { tag: 'NICK', text: { is: 'z' } } } }],
    }),
    ...{ ...nickRow, places: '(trigger 1, ask, goal named)' },
  },
  {
    what: 'a field that a mail names',
    parts: ({ template }) => ({ nodes: [{ id: 'hello', type: 'send_mail', templateUid: template }] }),
    ...{ ...nickRow, places: '(hello)' },
  },
];

test.each(cases)('$what', async ({ parts, path, mutation, code, places }) => {
  const world = await worldOf(owner);
  const automation = await begun(world, 'Welcome', parts(world));
  const refused = await world.call('DELETE', path(world));
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(`automation “Welcome” ${places}`)]);
  expect(await codeOf(mutation(world))).toBe(code);
  await world.call('DELETE', `/automations/${automation}`);
  expect(await world.call('DELETE', path(world))).toMatchObject({ status: 200 });
});

test('an automation that another one starts, while that is active', async () => {
  const world = await worldOf(owner);
  const second = await begun(world, 'Second', { nodes: [REST] });
  const first = await begun(world, 'Welcome', { nodes: [{ id: 'then', type: 'start_flow', automationUid: second }] });
  const refused = await world.call('DELETE', `/automations/${second}`);
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('automation “Welcome” (then)')]);
  expect(await codeOf(`deleteAutomation(uid: "${second}")`)).toBe('AUTOMATION_IN_USE');
  await world.call('POST', `/automations/${first}/pause`);
  expect(await world.call('DELETE', `/automations/${second}`)).toMatchObject({ status: 200 });
});

test('an earlier version counts while people are in it', async () => {
  const world = await worldOf(owner);
  const { call, template, list } = world;
  const nodes = [REST, { id: 'hello', type: 'send_mail', templateUid: template }];
  const automation = await begun(world, 'Welcome', { nodes });
  await call('POST', `/lists/${list}/subscribers`, { EMAIL: 'ann@example.org' });
  expect((await call('POST', `/automations/${automation}/execute`, { email: 'ann@example.org' })).status).toBe(200);
  const flow = { triggers: [{ type: 'execute' }], nodes: [REST], edges: [{ from: 'start', to: 'rest' }] };
  await call('PATCH', `/automations/${automation}`, { flow, draft_version: 1 });
  expect((await call('POST', `/automations/${automation}/publish`, { draft_version: 2 })).status).toBe(200);
  expect((await call('DELETE', `/templates/${template}`)).text).toContain('automation “Welcome” (hello)');
  await db.execute(sql`UPDATE hot.flow_node SET waiting = 0, "left" = entered WHERE version = 1
                        AND automation_id = (SELECT id FROM automation WHERE uid = ${automation})`);
  expect((await call('DELETE', `/templates/${template}`)).status).toBe(200);
});

test('a list: an active automation on it, and flows of other lists that bring people', async () => {
  const [world, other] = [await worldOf(owner), await worldOf(owner)];
  const { call, list } = world;
  const automation = await begun(world, 'Own flow', { nodes: [REST] });
  expect((await call('DELETE', `/lists/${list}`)).text).toContain('Own flow');
  expect(await codeOf(`deleteList(uid: "${list}")`)).toBe('LIST_IN_USE');
  const others: string[] = [];
  for (const no of [2, 3, 4, 5, 6]) others.push(await begun(world, `Own ${no}`, { nodes: [REST] }));
  expect((await call('DELETE', `/lists/${list}`)).text).toContain(
    'active: Own flow, Own 2, Own 3, Own 4, Own 5, and others. ',
  );
  for (const one of others) await call('DELETE', `/automations/${one}`);
  await call('POST', `/automations/${automation}/pause`);
  const flow = { triggers: [], nodes: [{ id: 'over', type: 'copy_to_list', listUid: list }], goals: [], exits: [] };
  const uid = newUid();
  await db.execute(sql`
    WITH a AS (INSERT INTO automation (customer_id, list_id, uid, name, draft, live_version)
               SELECT customer_id, id, ${uid}, 'Copier', '{}', 1 FROM mail_list WHERE uid = ${other.list} RETURNING customer_id, id)
    INSERT INTO automation_version (customer_id, automation_id, number, flow) SELECT customer_id, id, 1, ${JSON.stringify(flow)}::jsonb FROM a`);
  expect((await call('DELETE', `/lists/${list}`)).text).toContain('automation “Copier” (over)');
  await call('DELETE', `/automations/${uid}`);
  expect((await call('DELETE', `/lists/${list}`)).status).toBe(200);
});

test('a sender: its verified address, and its domain', async () => {
  const world = await worldOf(owner);
  const automation = await begun(world, 'Welcome', {
    nodes: [{ id: 'hello', type: 'send_mail', templateUid: world.template }],
  });
  const [address, domain] = [newUid(), newUid()];
  const [{ id } = { id: 0n }] = await queryRows<{ id: bigint }>(
    db,
    sql`SELECT customer_id AS id FROM mail_list WHERE uid = ${world.list}`,
  );
  await db.execute(sql`INSERT INTO from_address (customer_id, uid, email, email_key, verified_at)
                       VALUES (${id}, ${address}, 'news@sender.example', 'news@sender.example', now())`);
  await db.execute(sql`INSERT INTO sending_domain (customer_id, uid, name, token, status, return_path_host, tracking_host)
                       VALUES (${id}, ${domain}, 'sender.example', ${newUid()}, 'verified', 'bounces.sender.example', 'links.sender.example')`);
  for (const path of [`/from_addresses/${address}`, `/sending_domains/${domain}`]) {
    const refused = await world.call('DELETE', path);
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('automation “Welcome” (hello)')]);
  }
  expect(await codeOf(`deleteFromAddress(uid: "${address}")`)).toBe('FROM_ADDRESS_IN_USE');
  expect(await codeOf(`deleteSendingDomain(uid: "${domain}")`)).toBe('SENDING_DOMAIN_IN_USE');
  await world.call('POST', `/automations/${automation}/pause`);
  for (const path of [`/from_addresses/${address}`, `/sending_domains/${domain}`])
    expect((await world.call('DELETE', path)).status).toBe(200);
});

test('a flow that is published while its template is being deleted is refused', async () => {
  const world = await worldOf(owner);
  const { call, list, template } = world;
  const nodes = [{ id: 'hello', type: 'send_mail', templateUid: template }];
  const flow = { triggers: [{ type: 'execute' }], nodes, edges: [{ from: 'start', to: 'hello' }] };
  const made = await call('POST', '/automations', { list_uid: list, name: 'Late', flow });
  const published = await app.ctx.database.transaction(async (tx) => {
    await tx.execute(sql`DELETE FROM template WHERE uid = ${template}`);
    const answer = call('POST', `/automations/${String(field(made, 'automation_uid'))}/publish`, { draft_version: 1 });
    await expect
      .poll(
        async () =>
          (
            await queryRows(
              db,
              sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM template%KEY SHARE%'`,
            )
          ).length,
      )
      .toBe(1);
    return { answer };
  });
  expect((await published.answer).status).toBe(422);
});
