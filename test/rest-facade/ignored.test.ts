/**
 * Nothing is dropped in silence (decision D53): filters that an index does not know are refused in the standard dialect, and
 * all else that a row does not know is named by its answer, in both dialects.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { loadDocuments } from '../../src/rest-facade/documents.ts';
import { inputOf } from '../../src/rest-facade/input.ts';
import { hasIgnoredInBody, unknownNames } from '../../src/rest-facade/ignored-parameters.ts';
import { mergeParameters, type RequestParameters } from '../../src/rest-facade/request-parameters.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { declarationOf, type Declaration } from '../../src/rest-facade/row-parameters.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { placesOf } from '../support/play-row.ts';
import { rawRequest } from '../support/raw-request.ts';
import { startRestApp, type RestRequest } from '../support/rest-app.ts';
import { newWorld, pathIn, rightValue, type World } from '../support/rest-world.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const dialects = ['standard', 'classic'] as const;

const ask = (dialect: 'standard' | 'classic', path: string, request: RestRequest = {}) =>
  app.rest(path, { token: owner.token, ...request, headers: { 'X-Api-Dialect': dialect, ...request.headers } });

async function newList(more: object = {}): Promise<string> {
  const made = await ask('standard', '/lists', { method: 'POST', body: { ...LIST_BODY, ...more } });
  return String(Object(made.body).list_uid);
}

let listUid = '';
let world: World;
beforeAll(async () => {
  listUid = await newList();
  world = await newWorld(app, {});
});

describe('an index', () => {
  const indexes = placesOf(rows).filter(({ row }) => row.isIndex || row.answers.kind === 'page');

  test.each(indexes)('$row.path refuses what it does not know, and names what it knows', async ({ row }) => {
    const path = pathIn(world, row.path);
    const token = row.access === 'admin' ? app.adminToken : world.token;
    // Some go forward only, by `after`.
    const { names } = await declarationOf(row);
    const [pages, paging] = names.has('after') ? ['per_page, after', ''] : ['per_page, page', '&page=0'];
    // Where an index sorts, what it sorts by is known, and its form is wrong in both dialects.
    const sorts = names.has('sort');
    const asked = `${path}?mood=good&sort[by]=name&per_page=10${paging}&_=17&_method=GET`;
    const refused = await ask('standard', asked, { token });
    expect(refused, refused.text).toMatchObject({
      status: 422,
      body: { errors: { mood: [expect.stringContaining(pages)], sort: [expect.stringContaining('sort')] } },
    });
    expect(Object.keys(Object(Object(refused.body).errors))).toEqual(['mood', 'sort']);
    const classic = await ask('classic', asked, { token });
    const answer = [classic.status, classic.headers.get('X-Ignored-Parameters')];
    expect(answer).toEqual(sorts ? [422, 'mood'] : [200, 'mood, sort']);
    if (paging !== '' && !sorts) expect(classic.body).toBeInstanceOf(Array);
    const plain = await ask('standard', `${path}?api_token=${token}${paging}&per_page=5000&_=17`, { token: null });
    expect([plain.status, plain.headers.get('X-Ignored-Parameters')]).toEqual([200, null]);
  });

  test('obeys the dialect of the token, and tells strangers nothing', async () => {
    const old = await app.newTenant({ restDialect: 'classic' });
    expect((await app.rest('/lists?mood=good', { token: old.token })).status).toBe(200);
    expect((await app.rest('/lists?mood=good', { token: owner.token })).status).toBe(422);
    expect(await app.rest('/lists?mood=good', { token: null })).toMatchObject({ status: 401 });
    const wrong = await app.rest('/lists?mood=good', { token: 'x'.repeat(60) });
    expect([wrong.status, wrong.headers.get('X-Ignored-Parameters')]).toEqual([401, null]);
    const customer = await app.rest('/customers?mood=good', { token: owner.token });
    expect([customer.status, customer.headers.get('X-Ignored-Parameters')]).toEqual([403, null]);
  });

  test('names all that is wrong at once', async () => {
    expect(await ask('standard', `/subscribers?list_uid=${listUid}&open=perhaps&mood=good`)).toMatchObject({
      status: 422,
      body: { errors: { mood: [expect.any(String)], open: [expect.any(String)] } },
    });
  });

  test('takes a parameter that repeats its path', async () => {
    const same = await ask('standard', `/lists/${listUid}/subscribers?list_uid=${listUid}`);
    expect([same.status, same.headers.get('X-Ignored-Parameters')]).toEqual([200, null]);
    expect(await ask('standard', `/lists/${listUid}/subscribers?list_uid=another`)).toMatchObject({
      status: 422,
      body: { errors: { list_uid: [expect.any(String)] } },
    });
  });
});

describe.each(dialects)('a write in the %s dialect', (dialect) => {
  const created = dialect === 'classic' ? 200 : 201;

  test('names what it did not use, nested ones by their path', async () => {
    const body = { ...LIST_BODY, colour: 'red', contact: { ...CONTACT, fax: '1', fa_x: { deep: 1 } }, _hidden: 1 };
    const made = await ask(dialect, '/lists', { method: 'POST', body });
    expect(made, made.text).toMatchObject({
      status: created,
      body: { ignored: ['contact.fax', 'contact.fa_x', 'colour'] },
    });
    expect(made.headers.get('X-Ignored-Parameters')).toBe('contact.fax, contact.fa_x, colour');
    const asText = { ...LIST_BODY, contact: JSON.stringify({ ...CONTACT, fax: '1' }) };
    expect((await ask(dialect, '/lists', { method: 'POST', body: asText })).body).toMatchObject({
      ignored: ['contact.fax'],
    });
  });

  test('says nothing when it used everything', async () => {
    const made = await ask(dialect, '/lists', { method: 'POST', body: LIST_BODY });
    expect(made.status).toBe(created);
    expect(made.body).not.toHaveProperty('ignored');
    expect(made.headers.get('X-Ignored-Parameters')).toBeNull();
  });

  test('names them in a refusal, for its header only', async () => {
    const { name: _name, ...rest } = LIST_BODY;
    const refused = await ask(dialect, '/lists', { method: 'POST', body: { ...rest, nmae: 'Friends' } });
    expect(refused).toMatchObject({ status: 422, body: { errors: { name: [expect.any(String)] } } });
    expect(refused.body).not.toHaveProperty('ignored');
    expect(refused.headers.get('X-Ignored-Parameters')).toBe('nmae');
  });

  test('names tags that the list has not', async () => {
    const person = { list_uid: listUid, EMAIL: `ann-${dialect}@x.example`, FIRST_NAME: 'Ann', SHOE_SIZE: '44' };
    const made = await ask(dialect, '/subscribers', { method: 'POST', body: person });
    expect(made.body).toMatchObject({ ignored: ['SHOE_SIZE'] });
    const { subscriber_uid: uid } = Object(made.body);
    const changed = await ask(dialect, `/subscribers/${uid}`, {
      method: 'PATCH',
      body: { HAT_SIZE: 'L', LAST_NAME: 'X' },
    });
    expect(changed.body).toMatchObject({ ignored: ['HAT_SIZE'] });
    const plain = await ask(dialect, `/subscribers/${uid}`, { method: 'PATCH', body: { LAST_NAME: 'Y' } });
    expect(plain.body).not.toHaveProperty('ignored');
  });

  test('a public sign-up does so, too', async () => {
    const open = await newList({ public_signup: true });
    const body = { list_uid: open, EMAIL: `bob-${dialect}@x.example`, FIRST_NAME: 'Bob', SHOE_SIZE: '44' };
    const signed = await ask(dialect, '/public/subscribers', { method: 'POST', token: null, body });
    expect(signed, signed.text).toMatchObject({ status: 200, body: { ignored: ['SHOE_SIZE'] } });
  });

  test('a GET that writes does so, and other reads say it in the header', async () => {
    const field = `type=text&label=Shoe&tag=SHOE_${dialect}&mood=good`;
    expect((await ask(dialect, `/lists/${await newList()}/add-field?${field}`)).body).toMatchObject({
      ignored: ['mood'],
    });
    const read = await ask(dialect, `/lists/${listUid}?mood=good`);
    expect([read.status, read.headers.get('X-Ignored-Parameters')]).toEqual([200, 'mood']);
    expect(read.body).not.toHaveProperty('ignored');
    const download = await ask(dialect, `/lists/${listUid}/export?mood=good`);
    expect([download.status, download.headers.get('X-Ignored-Parameters')]).toEqual([200, 'mood']);
  });

  test('fields after a file are named, too', async () => {
    const form = new FormData();
    form.append('before', '1');
    form.append('file', new Blob(['EMAIL\nann@x.example\n']), 'people.csv');
    form.append('after', '1');
    form.append('tag', 'vip');
    const imported = await ask(dialect, `/lists/${listUid}/import`, { method: 'POST', body: form });
    expect(imported, imported.text).toMatchObject({ status: created, body: { ignored: ['before', 'after'] } });
  });

  test('a call that is repeated is told the same', async () => {
    const call = {
      method: 'POST',
      body: { ...LIST_BODY, mood: 'good' },
      headers: { 'Idempotency-Key': `k-${dialect}` },
    };
    const [first, second] = [await ask(dialect, '/lists', call), await ask(dialect, '/lists', call)];
    expect(first.body).toMatchObject({ ignored: ['mood'] });
    expect([second.body, second.headers.get('X-Ignored-Parameters')]).toEqual([first.body, 'mood']);
  });
});

describe('what is told', () => {
  test('is bounded', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, no) => [`name_${no}_${'x'.repeat(100)}`, 1]));
    const made = await ask('standard', '/lists', { method: 'POST', body: { ...LIST_BODY, ...many } });
    expect(Object(made.body).ignored).toHaveLength(100);
    expect(made.headers.get('X-Ignored-Parameters')?.length).toBeLessThanOrEqual(2_000);
  });

  test('brings no header of its own', async () => {
    const names = ['a\r\nSet-Cookie: x=1', 'ä, b', '"q"', 'a%0d%0ab'];
    const query = names.map((name) => `${encodeURIComponent(name)}=1`).join('&');
    const answer = await rawRequest(app.baseUrl, {
      line: `GET /api/v1/me?${query}`,
      headers: [`Authorization: Bearer ${owner.token}`],
      body: '',
    });
    expect(answer.status).toBe(200);
    expect(answer.head).not.toMatch(/^set-cookie:/im);
    expect(/^x-ignored-parameters: (.*)$/im.exec(answer.head)?.[1]).toBe(names.map(encodeURIComponent).join(', '));
  });
});

describe('what a row declares is what it reads', () => {
  test.each(rows)('$method $path', async (row) => {
    const declared = await declarationOf(row);
    const plain = declared.parameters.filter(({ kind }) => kind !== 'file');
    const right = plain.map((one) => [one.names[0] ?? '', rightValue(row, one, world)] as const);
    for (const dialect of dialects)
      for (const given of [{}, mergeParameters(right), ...right.map((one) => mergeParameters([one]))])
        expect(await undeclared(row, { given, declared, dialect })).toEqual([]);
  });

  test('a GET says so when it writes', () => {
    const documents = loadDocuments(buildSchema());
    const writing = rows.filter((row) => row.operations.some((name) => documents.get(name)?.isMutation));
    expect(writing.filter((row) => !hasIgnoredInBody(row)).map(({ path }) => path)).toEqual([]);
  });
});

interface Trial {
  readonly given: RequestParameters;
  readonly declared: Declaration;
  readonly dialect: 'standard' | 'classic';
}

/** Lets the row read these parameters, and gives the names that it looked for without declaring them. */
async function undeclared(row: Row, { given, declared, dialect }: Trial): Promise<string[]> {
  const read = new Set<string>();
  const input = inputOf(watched(given, read, []), {
    params: Object.fromEntries([...row.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, 'x'])),
    declared: declared.names,
    ignored: new Set(),
  });
  const call: Parameters<Row['run']>[0] = {
    input,
    upload: undefined,
    execute: () => Promise.reject(new Error('It has read everything.')),
    checkAll: async () => undefined,
    ofPlugin: { execute: async () => ({}), checkAll: async () => undefined },
    view: () => ({ dialect, apiUrl: '', product: { name: '', version: '', baseUrl: '' } }),
    identify: async () => undefined,
    identified: () => true,
  };
  await Promise.resolve()
    .then(() => row.run(call))
    .catch(() => undefined);
  const named = mergeParameters([...read].map((name) => [name, '1']));
  return declared.takesOthers ? [] : unknownNames(named, declared, {});
}

/** Notes what is looked for in it, by name; nested ones with brackets. */
function watched(given: RequestParameters, read: Set<string>, path: readonly string[]): RequestParameters {
  return new Proxy(given, {
    get(target, key) {
      if (typeof key !== 'string') return Reflect.get(target, key);
      const [head, ...inner] = [...path, key];
      read.add(head + inner.map((step) => `[${step}]`).join(''));
      const value = target[key];
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? watched(Object(value), read, [...path, key])
        : value;
    },
  });
}
