/** Templates over REST, and the same over GraphQL: what is stored, shown, found, copied, refused; campaigns made of them. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { TEMPLATES_PER_CUSTOMER_MAX } from '../../src/domain/content/templates/template.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';

const app = await startRestApp();
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
const own = await newWorld(app, smtp);
const stranger = await newWorld(app, smtp);

const TEXTS = {
  name: 'Order',
  subject: 'Your order {{ data.number }}',
  html: '<p>Hello {FIRST_NAME}, {{ data.number }} comes on {{ data.day }}{{ payload.x }}.</p>',
};
const ask = (method: string, path: string, body?: object, token = own.token) =>
  app.rest(path, { method, token, ...(body ? { body } : {}) });
const create = (body: object, token = own.token) => ask('POST', '/templates', { ...TEXTS, ...body }, token);
const uidOf = (answer: RestAnswer) => String(field(answer, 'template_uid'));
const errorsOf = ({ body }: RestAnswer) => Object.keys((body as { errors?: object }).errors ?? {});
const namesIn = (answer: RestAnswer) => (field(answer, 'data') as { name: string }[]).map(({ name }) => name);

async function graphql(query: string, variables: object, token = own.token) {
  const response = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  return JSON.parse(await response.text());
}

/** What is stored, without uid and times. */
const stored = (uid: string) =>
  queryRows(
    app.ctx.db,
    sql`SELECT customer_id, name, kind, subject, preheader, html, plain, version FROM template WHERE uid = ${uid}`,
  );

describe('a template', () => {
  test('is made, shown, changed, listed and deleted', async () => {
    const made = await create({ kind: 'transactional', preheader: 'It is on its way' });
    expect(made.status, made.text).toBe(201);
    const uid = uidOf(made);
    const shown = { uid, ...TEXTS, kind: 'transactional', preheader: 'It is on its way', plain: '', version: 1 };
    expect(made.body).toMatchObject({ status: 1, template: shown });
    expect((await ask('GET', `/templates/${uid}`)).body).toMatchObject({ template: shown });
    const changed = await ask('PATCH', `/templates/${uid}`, { name: 'Orders', preheader: null, kind: 'optional' });
    expect(changed.body).toMatchObject({
      template: { ...shown, name: 'Orders', preheader: '', kind: 'optional', version: 2 },
    });
    const listed = await ask('GET', '/templates?q=ORDERS');
    expect(listed.body).toMatchObject({ data: [{ uid, name: 'Orders' }], meta: { total: 1 } });
    // An index has no html, which may have megabytes.
    expect(listed.text).not.toContain('Hello {FIRST_NAME}');
    expect((await ask('DELETE', `/templates/${uid}`)).body).toMatchObject({ status: 1, template_uid: uid });
    expect((await ask('GET', `/templates/${uid}`)).status).toBe(404);
  });

  test('leaves the same row over both entry points', async () => {
    const given = { kind: 'optional', preheader: 'P', plain: 'Plain {{ data.number }}' };
    const rest = uidOf(await create(given));
    const CREATE =
      'mutation ($input: CreateTemplateInput!) { createTemplate(input: $input) { ... on Template { uid } ... on Error { message } } }';
    const twin = (await graphql(CREATE, { input: { ...TEXTS, ...given } })).data.createTemplate.uid;
    expect(await stored(rest)).toEqual(await stored(twin));
    expect(await stored(twin)).toHaveLength(1);
    const READ = 'query ($uid: String!) { template(uid: $uid) { ... on Template { name kind html plain version } } }';
    const { name, html } = TEXTS;
    expect((await graphql(READ, { uid: rest })).data.template).toEqual({
      ...{ name, html, kind: 'optional', plain: given.plain, version: 1 },
    });
  });

  test('is refused with all of its faults', async () => {
    const refused = await ask('POST', '/templates', { name: '', subject: 'a\nb', kind: 'urgent' });
    expect(refused.status).toBe(422);
    expect(errorsOf(refused).toSorted()).toEqual(['kind', 'name', 'subject']);
    expect(errorsOf(await create({ html: '', plain: ' ' }))).toEqual(['html']);
    const liquid = await create({ html: '<p>\n{% if data.x %}', subject: '{{ x | nothing }}' });
    expect(errorsOf(liquid).toSorted()).toEqual(['html', 'subject']);
    expect(liquid.text).toContain('Line 2');
    expect(errorsOf(await create({ name: 'x'.repeat(256) }))).toEqual(['name']);
    expect(errorsOf(await create({ subject: 'x'.repeat(999) }))).toEqual(['subject']);
    expect(errorsOf(await create({ preheader: 'x'.repeat(256) }))).toEqual(['preheader']);
    expect(errorsOf(await create({ html: 'x'.repeat(4_194_305) }))).toEqual(['html']);
    expect(errorsOf(await create({ html: '<i>'.repeat(5_001) }))).toEqual(['html']);
    const uid = uidOf(await create({}));
    expect(errorsOf(await ask('PATCH', `/templates/${uid}`, { html: '{% for %}' }))).toEqual(['html']);
    expect(errorsOf(await ask('PATCH', `/templates/${uid}`, { html: '', subject: '' }))).toContain('subject');
    expect(await stored(uid)).toMatchObject([{ ...TEXTS, version: 1 }]);
  });

  test('that changed since it was read is not overwritten', async () => {
    const uid = uidOf(await create({}));
    expect((await ask('PATCH', `/templates/${uid}`, { subject: 'One', version: 1 })).status).toBe(200);
    const late = await ask('PATCH', `/templates/${uid}`, { subject: 'Two', version: 1 });
    expect(late.status).toBe(422);
    expect(late.text).toContain('it has the version 2 now');
    const UPDATE =
      'mutation ($input: UpdateTemplateInput!) { it: updateTemplate(input: $input) { ... on Error { code } } }';
    expect((await graphql(UPDATE, { input: { uid, subject: 'Two', version: 1 } })).data.it.code).toBe(
      'TEMPLATE_CHANGED',
    );
    expect(await stored(uid)).toMatchObject([{ subject: 'One', version: 2 }]);
    const at = await Promise.all(
      ['a', 'b', 'c', 'd'].map((subject) => ask('PATCH', `/templates/${uid}`, { subject, version: 2 })),
    );
    expect(at.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    expect(await stored(uid)).toMatchObject([{ version: 3 }]);
  });

  test('stays while something refers to it', async () => {
    const uid = uidOf(await create({}));
    await app.ctx.db.execute(
      sql`CREATE TABLE refers_to_template (customer_id bigint, template_id bigint, FOREIGN KEY (customer_id, template_id) REFERENCES template (customer_id, id))`,
    );
    try {
      await app.ctx.db.execute(
        sql`INSERT INTO refers_to_template SELECT customer_id, id FROM template WHERE uid = ${uid}`,
      );
      const refused = await ask('DELETE', `/templates/${uid}`);
      expect(refused.status, refused.text).toBe(422);
      expect(refused.text).toContain('cannot be deleted while');
      expect(await stored(uid)).toHaveLength(1);
    } finally {
      await app.ctx.db.execute(sql`DROP TABLE refers_to_template`);
    }
    expect((await ask('DELETE', `/templates/${uid}`)).status).toBe(200);
  });

  test('there are as many as the limit says', async () => {
    const full = await newWorld(app, smtp);
    await app.ctx.db.execute(sql`
      INSERT INTO template (customer_id, uid, name, subject)
      SELECT ${full.customerId}, 'full' || n, 'T', 'S' FROM generate_series(3, ${TEMPLATES_PER_CUSTOMER_MAX}::int) n`);
    const both = await Promise.all([create({}, full.token), create({}, full.token)]);
    expect(both.map(({ status }) => String(status)).toSorted()).toEqual(['201', '422']);
    const copied = await ask('POST', `/templates/${full.templateUid}/copy`, {}, full.token);
    expect(errorsOf(copied)).toEqual(['name']);
  });
});

describe('the index', () => {
  test('finds, sorts and refuses what it does not know', async () => {
    const world = await newWorld(app, smtp);
    const at = (day: number) => `2024-05-0${day} 10:00:00`;
    for (const [name, kind, day] of [
      ['Beta', 'marketing', 1],
      ['alpha 100%', 'transactional', 2],
      ['Gamma', 'optional', 3],
    ] as const) {
      const uid = uidOf(await create({ name, kind }, world.token));
      await app.ctx.db.execute(sql`UPDATE template SET created_at = ${at(day)}::timestamptz WHERE uid = ${uid}`);
    }
    await ask('DELETE', `/templates/${world.templateUid}`, {}, world.token);
    const find = (query: string) => ask('GET', `/templates?${query}`, undefined, world.token);
    const names = async (query: string) => namesIn(await find(query));
    expect(await names('')).toEqual(['Beta', 'alpha 100%', 'Gamma']);
    expect(await names('sort=created_at&direction=desc')).toEqual(['Gamma', 'alpha 100%', 'Beta']);
    expect((await names('sort=name')).toSorted()).toEqual(['Beta', 'Gamma', 'alpha 100%']);
    expect(await names('sort=updated_at&direction=DESC&per_page=1&page=2')).toEqual(['alpha 100%']);
    expect(await names('kind=optional')).toEqual(['Gamma']);
    expect(await names('q=ALPHA')).toEqual(['alpha 100%']);
    // What stands for any text in SQL is a character here.
    expect(await names('q=%25')).toEqual(['alpha 100%']);
    expect(await names('q=_')).toEqual([]);
    expect(await names('q=your order')).toHaveLength(3);
    expect(await names(`created_at[from]=${at(2)}`)).toEqual(['alpha 100%', 'Gamma']);
    expect(await names(`created_at[from]=${at(1)}&created_at[to]=${at(2)}`)).toEqual(['Beta', 'alpha 100%']);
    expect(errorsOf(await find(`q=${'x'.repeat(256)}`))).toEqual(['q']);
    expect(errorsOf(await find('q=a%00'))).toEqual(['q']);
    expect(errorsOf(await find('sort=size'))).toEqual(['sort']);
    expect(errorsOf(await find('direction=up&kind=urgent')).toSorted()).toEqual(['direction', 'kind']);
    expect(errorsOf(await find('created_at[from]=yesterday'))).toEqual(['created_at.from']);
    const unknown = await find('colour=red');
    expect(errorsOf(unknown)).toEqual(['colour']);
    expect(unknown.text).toMatch(/kind, .*q, |q, .*kind, /);
    const classic = await app.rest('/templates?kind=optional', {
      ...{ token: world.token, headers: { 'X-Api-Dialect': 'classic' } },
    });
    expect(classic.body).toMatchObject([{ name: 'Gamma' }]);
  });
});

describe('copies', () => {
  test('of a template have its texts and a name of their own', async () => {
    const uid = uidOf(await create({ name: 'n'.repeat(255), kind: 'optional', plain: 'P', preheader: 'H' }));
    const copy = await ask('POST', `/templates/${uid}/copy`);
    expect(copy.status, copy.text).toBe(201);
    const texts = {
      subject: TEXTS.subject,
      html: TEXTS.html,
      kind: 'optional',
      plain: 'P',
      preheader: 'H',
      version: 1,
    };
    expect(copy.body).toMatchObject({ template: { ...texts, name: `${'n'.repeat(248)} (copy)` } });
    const named = await ask('POST', `/templates/${uid}/copy`, { name: 'Mine' });
    expect(named.body).toMatchObject({ template: { ...texts, name: 'Mine' } });
    expect(errorsOf(await ask('POST', `/templates/${uid}/copy`, { name: 'x'.repeat(256) }))).toEqual(['name']);
  });

  test('of built-in templates, which are listed', async () => {
    const { body } = await ask('GET', '/built_in_templates');
    const listed = body as { name: string; title: string; kind: string; html: string }[];
    expect(listed.map(({ name }) => name)).toEqual(
      'plain_letter newsletter announcement receipt welcome re_permission'.split(' '),
    );
    for (const { name, title, kind, html } of listed) {
      const copy = await ask('POST', `/built_in_templates/${name}/copy`);
      expect(copy.status, copy.text).toBe(201);
      expect(copy.body).toMatchObject({ template: { name: title, kind, html, version: 1 } });
    }
    expect((await ask('POST', '/built_in_templates/nothing/copy')).status).toBe(422);
  });

  test('of the texts of a campaign', async () => {
    const made = await ask('POST', `/campaigns/${own.campaignUid}/template`);
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject({
      template: { name: 'Campaign', kind: 'marketing', subject: 'Subject', html: '<p>Hello</p>' },
    });
    const named = await ask('POST', `/campaigns/${own.campaignUid}/template`, { name: 'Kept', kind: 'optional' });
    expect(named.body).toMatchObject({ template: { name: 'Kept', kind: 'optional' } });
    expect((await ask('POST', `/campaigns/${stranger.campaignUid}/template`)).status).toBe(403);
  });
});

describe('a campaign', () => {
  const base = { list_uid: own.listUid, name: 'News', from_email: 'news@sender.example', from_name: 'News' };
  const shown = async (uid: unknown) => field(await ask('GET', `/campaigns/${String(uid)}`), 'campaign');

  test('copies the texts of a template, and keeps them', async () => {
    const uid = uidOf(await create({ kind: 'marketing', preheader: 'H', plain: 'P' }));
    const made = await ask('POST', '/campaigns', { ...base, template_uid: uid });
    expect(made.status, made.text).toBe(201);
    const campaignUid = field(made, 'campaign_uid');
    const texts = { subject: TEXTS.subject, html: TEXTS.html, preheader: 'H', plain: 'P' };
    expect(await shown(campaignUid)).toMatchObject(texts);
    await ask('PATCH', `/templates/${uid}`, { html: '<p>Other</p>', plain: '', preheader: '' });
    expect(await shown(campaignUid)).toMatchObject(texts);
    const again = await ask('PATCH', `/campaigns/${String(campaignUid)}`, { template_uid: uid, subject: 'Mine' });
    expect(again.status, again.text).toBe(200);
    expect(await shown(campaignUid)).toMatchObject({ subject: 'Mine', html: '<p>Other</p>', plain: '', preheader: '' });
    await ask('DELETE', `/templates/${uid}`);
    expect(await shown(campaignUid)).toMatchObject({ html: '<p>Other</p>' });
  });

  test('gets none of another customer or of nobody, and not of two at once', async () => {
    const make = (more: object) => ask('POST', '/campaigns', { ...base, ...more });
    expect((await make({ template_uid: stranger.templateUid })).status).toBe(403);
    expect((await make({ template_uid: '0123456789abc' })).status).toBe(404);
    const both = await make({ template_uid: own.templateUid, plugin_template: 'acme/notes:welcome' });
    expect(errorsOf(both).toSorted()).toEqual(['plugin_template', 'template_uid']);
    const { token } = await app.newTenant({ scopes: ['campaigns:write'] });
    const narrow = await ask('POST', '/campaigns', { ...base, template_uid: own.templateUid }, token);
    expect(narrow.status).toBe(403);
    expect(narrow.text).toContain('templates:read');
  });
});

describe('a preview', () => {
  const preview = async (uid: string, body: object = {}) => {
    const answer = await ask('POST', `/templates/${uid}/preview`, body);
    expect(answer.status, answer.text).toBe(200);
    return field(answer, 'preview') as { subject: string; html: string; plain: string; size: number };
  };

  test('shows data, and nothing where there is none', async () => {
    const uid = uidOf(await create({ kind: 'transactional' }));
    const empty = await preview(uid);
    expect(empty.subject).toBe('Your order ');
    expect(empty.html).toContain('Hello {FIRST_NAME},  comes on .');
    const filled = await preview(uid, { data: { number: 7, day: '<b>Monday</b>' } });
    expect(filled.subject).toBe('Your order 7');
    expect(filled.html).toContain('7 comes on &lt;b&gt;Monday&lt;/b&gt;.');
    expect(filled.html).not.toContain('Unsubscribe');
    expect(filled.size).toBeGreaterThan(400);
  });

  test('is for somebody on a list, with the way out that its kind asks for', async () => {
    const uid = uidOf(await create({ kind: 'marketing' }));
    await app.ctx.db.execute(
      sql`UPDATE subscriber SET fields = '{"FIRST_NAME": "Ada"}' WHERE customer_id = ${own.customerId} AND email = ${own.subscriberEmail}`,
    );
    const person = { list_uid: own.listUid, subscriber: own.subscriberUid };
    const shown = await preview(uid, { ...person, subject: 'Other' });
    expect(shown).toMatchObject({ subject: 'Other' });
    expect(shown.html).toContain('Hello Ada,');
    expect(shown.html).toContain('Unsubscribe');
    expect(shown.html).toContain('1 High St');
    expect((await preview(uid, { ...person, kind: 'optional' })).html).toContain('Unsubscribe');
    const transactional = await preview(uid, { ...person, kind: 'transactional' });
    expect(transactional.html).toContain('Hello Ada,');
    expect(transactional.html).not.toContain('Unsubscribe');
    expect(await stored(uid)).toMatchObject([{ subject: TEXTS.subject, kind: 'marketing', version: 1 }]);
  });

  test('is refused for too much data, and for people and lists that the token may not see', async () => {
    const uid = uidOf(await create({}));
    const refused = (body: object) => ask('POST', `/templates/${uid}/preview`, body);
    expect(errorsOf(await refused({ data: { text: 'x'.repeat(65_536) } }))).toEqual(['data']);
    expect(errorsOf(await refused({ data: 'text' }))).toEqual(['data']);
    expect(errorsOf(await refused({ data: ['text'] }))).toEqual(['data']);
    expect(errorsOf(await refused({ html: '{% if %}' }))).toEqual(['html']);
    expect(errorsOf(await refused({ subscriber: own.subscriberUid }))).toEqual(['subscriber']);
    expect((await refused({ list_uid: stranger.listUid })).status).toBe(403);
    expect((await ask('POST', `/templates/${stranger.templateUid}/preview`)).status).toBe(403);
    const made = await ask('POST', '/api_tokens', { name: 'Small', scopes: ['templates:read'] });
    const small = String(field(made, 'token'));
    expect((await ask('POST', `/templates/${uid}/preview`, {}, small)).status).toBe(200);
    const list = await ask('POST', `/templates/${uid}/preview`, { list_uid: own.listUid }, small);
    expect([list.status, list.text]).toEqual([403, expect.stringContaining('lists:read')]);
  });
});

test('rights: of templates alone, reading and writing apart', async () => {
  const reader = await app.newTenant({ scopes: ['templates:read'] });
  const writer = await app.newTenant({ scopes: ['templates:write'] });
  const other = await app.newTenant({ scopes: ['campaigns:write', 'lists:write'] });
  expect((await create({}, reader.token)).status).toBe(403);
  expect((await create({}, other.token)).status).toBe(403);
  const uid = uidOf(await create({}, writer.token));
  expect((await ask('GET', `/templates/${uid}`, undefined, writer.token)).status).toBe(200);
  expect((await ask('GET', '/templates', undefined, reader.token)).body).toMatchObject({ data: [] });
  for (const path of ['/templates', '/built_in_templates'])
    expect((await ask('GET', path, undefined, other.token)).status).toBe(403);
  const kept = await ask('POST', `/campaigns/${own.campaignUid}/template`, {}, writer.token);
  expect([kept.status, kept.text]).toEqual([403, expect.stringContaining('campaigns:read')]);
});

test('another customer sees, changes, copies and deletes nothing', async () => {
  const theirs = stranger.templateUid;
  const before = await stored(theirs);
  for (const [method, path] of [
    ['GET', `/templates/${theirs}`],
    ['PATCH', `/templates/${theirs}`],
    ['DELETE', `/templates/${theirs}`],
    ['POST', `/templates/${theirs}/copy`],
  ] as const)
    expect((await ask(method, path, method === 'GET' ? undefined : { name: 'Mine' })).status, `${method} ${path}`).toBe(
      403,
    );
  expect(await stored(theirs)).toEqual(before);
  const READ = 'query ($uid: String!) { template(uid: $uid) { ... on Error { code } } }';
  expect((await graphql(READ, { uid: theirs })).data.template.code).toBe('TEMPLATE_NOT_FOUND');
  expect((await ask('GET', '/templates?per_page=1000')).text).not.toContain(theirs);
});
