/** Flows as documents, over REST and GraphQL: moved to other lists and accounts by names and mappings, and the ready-made ones. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { LIST_BODY } from '../support/list-body.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const [own, stranger] = [await newWorld(app, smtp), await newWorld(app, smtp)];
const ask = (method: string, path: string, body?: object, token = own.token) =>
  app.rest(path, { ...(body && { body }), method, token });

const graphql = async (query: string, variables: object) => {
  const headers = { Authorization: `Bearer ${own.token}`, 'Content-Type': 'application/json' };
  const asked = { method: 'POST', headers, body: JSON.stringify({ query, variables }) };
  return JSON.parse(await (await fetch(`${app.baseUrl}/graphql`, asked)).text());
};

const [hello] = await queryRows<{ name: string }>(
  app.ctx.db,
  sql`SELECT name FROM template WHERE uid = ${own.templateUid}`,
);
const flow = {
  triggers: [
    { type: 'segment_entered', segmentUid: own.segmentUid, if: { field: { tag: 'FIRST_NAME', text: { is: 'Ann' } } } },
    { type: 'event', name: 'order_placed' },
  ],
  nodes: [
    { id: 'mail', type: 'send_mail', templateUid: own.templateUid },
    { id: 'name', type: 'set_field', field: 'FIRST_NAME', value: 'Ann' },
    {
      id: 'read',
      type: 'condition',
      if: {
        person: { any: [{ opened: { campaigns: { uids: [own.campaignUid] } } }, { did: { event: 'order_paid' } }] },
      },
    },
    { id: 'move', type: 'copy_to_list', listUid: own.listUid },
  ],
  edges: [
    { from: 'start', to: 'mail' },
    { from: 'mail', to: 'name' },
    { from: 'name', to: 'read' },
    { from: 'read', port: 'yes', to: 'move' },
  ],
  layout: { templateUid: { x: 1, y: 2 } },
};
const make = async (body: object = {}) =>
  String(
    field(
      await ask('POST', '/automations', { list_uid: own.listUid, name: 'Mine', flow: JSON.stringify(flow), ...body }),
      'automation_uid',
    ),
  );
type Names = Record<string, Record<string, { name: string; kind?: string; texts?: object }>>;
interface Document {
  references: Names;
}
const exported = async () => (await ask('GET', `/automations/${await make()}/export`)).body as Document;
const load = (body: object, token = own.token) =>
  ask('POST', '/automations/import', { list_uid: own.listUid, ...body }, token);

test('a published version has the layout of its draft', async () => {
  const nodes = [{ id: 'tag', type: 'add_tag', tag: 'drawn' }];
  const drawn = {
    triggers: [{ type: 'execute' }],
    nodes,
    edges: [{ from: 'start', to: 'tag' }],
    layout: { tag: { x: 3, y: 4 } },
  };
  const uid = await make({ flow: JSON.stringify(drawn) });
  await ask('POST', `/automations/${uid}/publish`, { draft_version: 1 });
  expect((await ask('GET', `/automations/${uid}/versions`)).body).toMatchObject({
    versions: [{ flow: { layout: { tag: { x: 3, y: 4 } } } }],
  });
});

describe('a document', () => {
  test('has the graph and the names of what it refers to, over both entry points', async () => {
    const uid = await make();
    const { body } = await ask('GET', `/automations/${uid}/export`);
    expect(body).toEqual({
      ...{ format: 'mailwright.flow.1', name: 'Mine', flow },
      references: {
        templates: { [own.templateUid]: { name: hello?.name, kind: 'marketing' } },
        segments: { [own.segmentUid]: { name: expect.any(String) } },
        campaigns: { [own.campaignUid]: { name: expect.any(String) } },
        lists: { [own.listUid]: { name: expect.any(String) } },
        fields: { FIRST_NAME: { name: expect.any(String), type: 'text' } },
        events: { order_placed: { name: 'order_placed' }, order_paid: { name: 'order_paid' } },
      },
    });
    const READ =
      'query ($uid: String!) { it: automationExport(uid: $uid) { ... on FlowDocument { format name flow references } } }';
    expect((await graphql(READ, { uid })).data.it).toEqual(body);
    expect((await ask('GET', `/automations/${uid}/export`, undefined, stranger.token)).status).toBe(403);
  });

  test('becomes the same flow on its own list', async () => {
    const document = await exported();
    const made = await load({ document });
    expect(made.body).toMatchObject({ automation: { name: 'Mine', flow, status: 'inactive', live_version: null } });
    expect((await load({ document, name: 'Second' })).body).toMatchObject({
      automation: { name: 'Second', flow },
    });
  });

  test('is moved to another list: what has no name there is named, all of it together', async () => {
    const document = await exported();
    const other = await ask('POST', '/lists', LIST_BODY);
    const otherUid = String(field(other, 'list_uid'));
    await ask('POST', `/lists/${otherUid}/add-field`, { type: 'text', label: 'Given name', tag: 'GIVEN_NAME' });
    const refused = await load({
      list_uid: otherUid,
      document,
      mapping: { fields: { COLOUR: 'X' }, lists: { x: 'y' } },
    });
    expect(refused.status, refused.text).toBe(422);
    const segment = document.references['segments']?.[own.segmentUid]?.name;
    expect(refused.body).toMatchObject({
      errors: {
        mapping: [
          'The flow has no list “x”, which mapping.lists names.',
          'The flow has no field “COLOUR”, which mapping.fields names.',
          `The flow uses the segment “${own.segmentUid}” (“${segment}”). There is no such segment here: name yours in mapping.segments.`,
        ],
      },
    });
    const made = await ask('POST', `/lists/${otherUid}/segments`, {
      ...{ name: segment, rule: { email: { contains: 'a' } } },
    });
    const segmentUid = String(field(made, 'segment_uid'));
    const events = { order_placed: 'shop.order', order_paid: 'shop.paid' };
    const mapping = { fields: { FIRST_NAME: 'GIVEN_NAME' }, events };
    const moved = await load({ list_uid: otherUid, document, mapping });
    expect(moved.status, moved.text).toBe(201);
    expect(moved.body).toMatchObject({
      automation: {
        list_uid: otherUid,
        flow: {
          triggers: [
            { segmentUid, if: { field: { tag: 'GIVEN_NAME' } } },
            { type: 'event', name: 'shop.order' },
          ],
          nodes: [
            ...[{ templateUid: own.templateUid }, { field: 'GIVEN_NAME' }],
            { if: { person: { any: [{}, { did: { event: 'shop.paid' } }] } } },
            { listUid: own.listUid },
          ],
        },
      },
    });
  });

  test('of another account takes what has the same name there, and nothing of the other account', async () => {
    const document = await exported();
    const refused = await load({ list_uid: stranger.listUid, document: renamed(document) }, stranger.token);
    expect(refused.status).toBe(422);
    const sentences = (refused.body as { errors: { mapping: string[] } }).errors.mapping;
    expect(sentences).toHaveLength(4);
    const taken = await load({ list_uid: stranger.listUid, document }, stranger.token);
    const text = taken.status === 201 ? JSON.stringify(taken.body) : '';
    for (const uid of [own.templateUid, own.segmentUid, own.campaignUid, own.listUid]) expect(text).not.toContain(uid);
    const mapping = { templates: { [own.templateUid]: own.templateUid } };
    const foreign = await load({ list_uid: stranger.listUid, document: renamed(document), mapping }, stranger.token);
    expect(foreign.text).toContain(`mapping.templates names “${own.templateUid}”, which is no template here.`);
    expect((await load({ document }, stranger.token)).status).toBe(403);
  });

  test('with texts makes templates, if the token may', async () => {
    const document = await exported();
    const texts = { subject: 'Hi {FIRST_NAME}', preheader: '', html: '<p>Hi {FIRST_NAME}</p>', plain: '' };
    document.references['templates'] = { [own.templateUid]: { name: 'New one', kind: 'marketing', texts } };
    const made = await load({ document });
    expect(made.status, made.text).toBe(201);
    const { automation } = made.body as { automation: { flow: { nodes: { templateUid?: string }[] } } };
    const uid = automation.flow.nodes[0]?.templateUid;
    expect(uid).not.toBe(own.templateUid);
    expect((await ask('GET', `/templates/${uid}`)).body).toMatchObject({
      template: { name: 'New one', html: texts.html },
    });
    const token = await ask('POST', '/api_tokens', { name: 'narrow', scopes: ['automations:write', 'lists:read'] });
    const narrow = String(field(token, 'token'));
    const refused = await load({ document }, narrow);
    expect([refused.status, refused.text.includes('templates:write')]).toEqual([403, true]);
    const mapping = { templates: { [own.templateUid]: own.templateUid } };
    expect((await load({ document, mapping }, narrow)).status).toBe(201);
  });

  test('with tags that change places has them in the texts as in the graph', async () => {
    await ask('POST', `/lists/${own.listUid}/add-field`, { type: 'text', label: 'Last name', tag: 'LAST_NAME' });
    const document = await exported();
    const texts = { subject: '{LAST_NAME}', preheader: '', html: '<p>{FIRST_NAME} {LAST_NAME} {EMAIL}</p>', plain: '' };
    const nodes = [
      { id: 'mail', type: 'send_mail', templateUid: own.templateUid },
      { id: 'first', type: 'set_field', field: 'FIRST_NAME', value: 'Ann' },
      { id: 'last', type: 'set_field', field: 'LAST_NAME', value: 'Lee' },
    ];
    const swapped = {
      ...{ ...document, flow: { ...flow, triggers: [], nodes, edges: [] } },
      references: { templates: { [own.templateUid]: { name: 'Swapped', kind: 'marketing', texts } } },
    };
    const mapping = { fields: { FIRST_NAME: 'LAST_NAME', LAST_NAME: 'FIRST_NAME' } };
    const made = await load({ document: swapped, mapping });
    expect(made.status, made.text).toBe(201);
    const { automation } = made.body as { automation: { flow: { nodes: { templateUid?: string; field?: string }[] } } };
    expect(automation.flow.nodes.map((one) => one.field)).toEqual([undefined, 'LAST_NAME', 'FIRST_NAME']);
    expect((await ask('GET', `/templates/${automation.flow.nodes[0]?.templateUid}`)).body).toMatchObject({
      template: { subject: '{FIRST_NAME}', html: '<p>{LAST_NAME} {FIRST_NAME} {EMAIL}</p>' },
    });
  });

  test('with names that every object has, or very many, is answered as any other', async () => {
    const document = await exported();
    const mapping = { fields: { FIRST_NAME: 'FIRST_NAME' }, events: { order_placed: 'order_placed' } };
    const withNodes = (nodes: readonly object[]) => ({
      ...document,
      flow: { ...flow, nodes: [...flow.nodes, ...nodes] },
    });
    const setting = (tag: string) => ({ id: 'set', type: 'set_field', field: tag, value: '' });
    const strange = await load({ document: withNodes(['constructor', 'toString'].map(setting)), mapping });
    expect([strange.status, strange.text]).toEqual([
      422,
      expect.stringContaining('The flow uses the field “constructor”.'),
    ]);
    const waits = { id: 'waits', type: 'wait_for_event', event: { type: 'event', name: 'constructor' } };
    const kept = await load({ document: withNodes([waits]), mapping });
    expect([kept.status, kept.text]).toEqual([201, expect.stringContaining('"name":"constructor"')]);
    const many = (count: number) => Array.from({ length: count }, (_, no) => ({ field: `F${no}` }));
    const { status, body } = await load({ document: JSON.stringify(withNodes(many(10_000))) });
    expect([status, (body as { errors: { mapping: string[] } }).errors.mapping.length]).toEqual([422, 100]);
    const large = await load({ document: JSON.stringify(withNodes(many(100_000))) });
    expect([large.status, large.text]).toEqual([422, expect.stringContaining('may not be larger than 256 KiB')]);
  });

  test.each<[string, object, string]>([
    ['no document', {}, 'document'],
    ['a list', { document: [] }, 'document'],
    ['another format', { document: { format: 'x', name: 'x', flow: {} } }, 'document.format'],
    [
      'an unknown kind',
      { document: { format: 'mailwright.flow.1', name: 'x', flow: {}, references: { cats: {} } } },
      'document.references',
    ],
    [
      'a mapping to a number',
      { document: { format: 'mailwright.flow.1', name: 'x', flow: {} }, mapping: { fields: { X: {} } } },
      'mapping.fields.X',
    ],
  ])('%s is refused', async (_name, body, place) => {
    const { status, body: answer } = await load(body);
    expect(status).toBe(422);
    expect(Object.keys((answer as { errors: object }).errors)).toEqual([expect.stringContaining(place)]);
  });
});

/** Nothing of it has a name that anybody has. */
function renamed(document: Document) {
  const references = Object.fromEntries(
    Object.entries(document.references).map(([kind, all]) => [
      kind,
      Object.fromEntries(Object.entries(all).map(([key, one]) => [key, { ...one, name: `nobody's ${kind} ${key}` }])),
    ]),
  );
  return { ...document, references };
}

describe('a ready-made flow', () => {
  test('is shown with its mails and its needs, over both entry points', async () => {
    const rows = (await ask('GET', '/ready_made_flows')).body as { name: string }[];
    expect(rows).toHaveLength(12);
    expect(rows.find(({ name }) => name === 'birthday')).toMatchObject({
      ...{ title: 'Birthday', needs: [{ kind: 'field', name: 'BIRTHDAY', type: 'date' }] },
      document: { format: 'mailwright.flow.1', flow: { triggers: [{ type: 'date_field', yearly: true }] } },
    });
    const READ =
      '{ it: readyMadeFlows { ... on ReadyMadeFlowsSuccess { nodes { name title description needs { kind name type description } document { format name flow references } } } } }';
    expect((await graphql(READ, {})).data.it.nodes).toEqual(rows);
  });

  test('becomes an automation with templates', async () => {
    const made = await ask('POST', '/ready_made_flows/welcome_series/copy', { list_uid: own.listUid });
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject({
      automation: { name: 'Welcome series', trigger: 'subscribed', status: 'inactive' },
    });
    const uid = String(field(made, 'automation_uid'));
    expect((await ask('GET', `/automations/${uid}/check`)).body).toMatchObject({ faults: [], warnings: [] });
    const COPY =
      'mutation ($input: CopyReadyMadeFlowInput!) { it: copyReadyMadeFlow(input: $input) { ... on Automation { name } ... on ValidationError { fields { field messages } } } }';
    const input = { readyMade: 'birthday', listUid: own.listUid };
    expect((await graphql(COPY, { input })).data.it.fields).toEqual([
      { field: 'mapping', messages: [expect.stringContaining('BIRTHDAY')] },
    ]);
    const unknown = await ask('POST', '/ready_made_flows/christmas/copy', { list_uid: own.listUid });
    expect([unknown.status, unknown.body]).toEqual([
      404,
      { message: expect.stringContaining('There are: welcome_series') },
    ]);
  });
});
