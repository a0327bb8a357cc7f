/**
 * Every row of the REST interface with missing, empty, wrong-typed, too long and hostile values, in its parameters and
 * its path: a status of the table with a message, never a 500, and what is refused has changed nothing. Rows are found
 * in the table of rows, parameters by letting a row read: a new row is covered by being there.
 */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { raw, sql } from '../../src/db/database.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import type { ParameterKind, RowParameter } from '../../src/rest-facade/row-parameters.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { parametersIn } from '../support/known-in.ts';
import { startRestApp, type RestAnswer, type RestRequest } from '../support/rest-app.ts';
import { requestRow, type RowRequest } from '../support/request-row.ts';
import { newWorld, pathIn, rightValue, type World } from '../support/rest-world.ts';
import { changedSince, stateOf } from '../support/table-states.ts';

const TABLE_OF_STATUSES = new Set([200, 201, 202, 401, 403, 404, 413, 415, 422, 429, 503]);
const MILLION = 'x'.repeat(1_000_000);
/** Rows that take a thing in a certain state only. */
const NEEDS_STATE = new Set([
  // The world's message is of no automation.
  '/messages/:uid/decide',
  // The world's payment gateway keeps no subscriptions.
  ...['/payment_gateways/:uid/remote_plans', '/plans/:uid/remote_plan', '/invoices/:uid/remote_subscription'],
  '/campaigns/:uid/pause',
  '/campaigns/:uid/resume',
  '/campaigns/:uid/dry_run',
  '/transactional/:uid/resend',
  // The world's automation is active, and its person has entered it.
  ...['DELETE /lists/:uid', '/automations/:uid/execute', '/automations/:uid/enter_existing'],
  '/payments/:uid/approve',
  '/two_factor',
  '/two_factor/confirm',
  '/two_factor/recovery_codes',
]);
/** What belongs to the operator's account and is shown to everybody. */
const NOBODYS = new Set(['/plans/:uid']);

const texts: [string, unknown][] = [
  ['a list', ['x']],
  ['an object', { a: 1 }],
  ['too long', MILLION],
  ['NUL', 'a\0b'],
  ['half a surrogate pair', 'a\ud800b'],
  ['line breaks', 'a\r\nBcc: evil@evil.example'],
  ['other line breaks', 'a\u0085b\u2028c\u2029d'],
  ['null', null],
  ['empty', ''],
  ['blank', ' \t '],
  ['a huge number', 1e308],
  ['true', true],
  ['SQL', "'; DROP TABLE customer; --"],
  ['markup', '<script>alert(1)</script>{{ "x" }}{% include "x" %}{EMAIL}'],
  ['broken Liquid', '{% if %}{{ | }}'],
];
const hostile: Readonly<Record<ParameterKind, readonly [string, unknown][]>> = {
  text: texts,
  integer: [
    ['words', 'many'],
    ['a fraction', 1.5],
    ['beyond 32 bits', '9999999999'],
    ['beyond everything', 1e308],
    ['negative', -1],
    ['zero', 0],
    ['null', null],
    ['empty', ''],
    ['a list', [1]],
    ['an object', { a: 1 }],
    ['true', true],
    ['NUL', '1\0'],
  ],
  flag: [
    ['words', 'maybe'],
    ['two', 2],
    ['a list', [true]],
    ['an object', {}],
    ['null', null],
    ['long', MILLION],
  ],
  time: [
    ['words', 'yesterday'],
    ['no such day', '2030-02-30 00:00:00'],
    ['no such hour', '2030-01-01 99:99:99'],
    ['a number', 1e308],
    ['far away', '9999-12-31 23:59:59'],
    ['long ago', '0001-01-01 00:00:00'],
    ['a list', []],
    ['long', MILLION],
  ],
  object: [
    ['a text', 'x'],
    ['a list', ['x']],
    ['a number', 5],
    ['null', null],
    ['empty', {}],
    ['deep', { a: { b: { c: { d: {} } } } }],
    ['many keys', Object.fromEntries(Array.from({ length: 500 }, (_, no) => [`k${no}`, no]))],
    ['odd keys', { __proto__: null, constructor: 'x', ['k'.repeat(150)]: 'x', '': 'x' }],
    ['long', { host: MILLION, name: MILLION }],
  ],
  file: [],
  any: texts,
};
/** Always refused, whatever the parameter means. */
const NEVER_TAKEN = new Set(['a list', 'an object', 'NUL', 'half a surrogate pair', 'too long']);
/** Parameters that may well hold a megabyte. */
const LONG_TEXTS = new Set(['html', 'plain']);

const brokenBodies: [string, RestRequest, number][] = [
  ['half a JSON object', { body: '{"name":' }, 422],
  ['a bare JSON string', { body: '"hello"' }, 422],
  ['a JSON list', { body: '[1]' }, 422],
  ['JSON null', { body: 'null' }, 422],
  ['a form labelled JSON', { body: 'name=x' }, 422],
  ['XML', { body: '<a/>', headers: { 'Content-Type': 'text/xml' } }, 415],
  ['broken multipart', { body: '--x\r\nrubbish', headers: { 'Content-Type': 'multipart/form-data; boundary=x' } }, 422],
];

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
let smtp: World['smtp'] = {};
let foreign: World;

beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  smtp = { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' };
  foreign = await newWorld(app, smtp);
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

const cases = rows.flatMap((row) =>
  [row.method].flat().map((method) => ({ name: `${method} ${row.path}`, method, row })),
);

const ask = (row: Row, method: string, request: RowRequest) => requestRow(app, { row, method, ...request });

function expectInTable(answer: RestAnswer, what: string): void {
  expect(TABLE_OF_STATUSES, `${what}: ${answer.status} ${answer.text.slice(0, 300)}`).toContain(answer.status);
  if (answer.status < 400) return;
  // A row that does several things at once answers for each of them.
  if (Array.isArray(answer.body)) return void expect(answer.status, what).toBe(422);
  expect(answer.body, what).toMatchObject({ message: expect.stringMatching(/\w{3}/) });
  if (answer.status === 422)
    expect((answer.body as { errors?: object }).errors, `${what} ${answer.text.slice(0, 300)}`).toBeTypeOf('object');
  // An answer must not throw a megabyte back.
  expect(answer.text.length, what).toBeLessThan(200_000);
}

describe.each(cases)('$name', ({ row, method }) => {
  let parameters: readonly RowParameter[] = [];
  /** For what is refused and must change nothing. */
  let world: World;
  beforeAll(async () => {
    parameters = await parametersIn(row, 'standard');
    world = await newWorld(app, smtp);
  });

  test('takes what is right', async () => {
    const own = await newWorld(app, smtp);
    const values = parameters.map((parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, own)] as const);
    const answer = await ask(row, method, { world: own, values });
    expectInTable(answer, 'right values');
    if (!NEEDS_STATE.has(row.path) && !NEEDS_STATE.has(`${method} ${row.path}`))
      expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(300);
  });

  test('asks for a token first', async () => {
    if (row.access === 'public') return;
    for (const token of [null, 'wrong', 'x'.repeat(60), `${world.token}x`]) {
      expect(await app.rest(pathIn(world, row.path), { method, token }), String(token)).toMatchObject({
        status: 401,
        body: { message: 'Unauthenticated.' },
      });
    }
  });

  test("needs an administrator's token, where it says so", async () => {
    if (row.access !== 'admin') return;
    const before = await stateOf(app);
    for (const values of [[], parameters.map((one) => [one.names[0] ?? '', rightValue(row, one, world)] as const)]) {
      const asCustomer = { ...row, access: 'token' as const };
      expect((await ask(asCustomer, method, { world, values })).status).toBe(403);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test('refuses a body that cannot be read', async () => {
    if (method === 'GET') return;
    const before = await stateOf(app);
    for (const [what, request, status] of brokenBodies) {
      const token = row.access === 'admin' ? app.adminToken : world.token;
      const answer = await app.rest(pathIn(world, row.path), { ...request, method, token });
      expectInTable(answer, what);
      expect(answer.status, what).toBe(status);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test('stands nothing, and any hostile value in each parameter', { timeout: 600_000 }, async () => {
    let own = await newWorld(app, smtp);
    const right = () =>
      parameters.map((parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, own)] as const);
    let before = await stateOf(app);
    const settle = async (answer: RestAnswer) => {
      if (answer.status >= 400) return;
      // It was taken: whatever it did is its right. Deleted things are made anew.
      if (method === 'DELETE') own = await newWorld(app, smtp);
      before = await stateOf(app);
    };
    const nothing = await ask(row, method, { world: own, values: [] });
    expectInTable(nothing, 'nothing');
    await settle(nothing);
    for (const parameter of parameters) {
      const name = parameter.names[0] ?? '';
      for (const [what, value] of hostile[parameter.kind]) {
        const others = right().filter(([other]) => other !== name);
        const answer = await ask(row, method, { world: own, values: [...others, [name, value]] });
        expectInTable(answer, `${name}: ${what}`);
        if (
          parameter.kind === 'text' &&
          isNeverTaken(what, { name, isForm: method === 'GET' || Boolean(row.takesFile) })
        ) {
          expect(answer.status, `${name}: ${what} ${answer.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
        }
        await settle(answer);
      }
      expect(await changedSince(app, before), `${name}: what was refused has changed something`).toEqual([]);
    }
  });

  test("does not take another tenant's uid, in the path or in a parameter", async () => {
    // To an administrator no customer is foreign, and the public has none.
    if (row.access === 'admin' || row.access === 'public' || NOBODYS.has(row.path)) return;
    const before = await stateOf(app);
    if (row.path.includes(':')) {
      for (const path of mixedPaths(row.path, world, foreign)) {
        const answer = await ask(row, method, {
          world,
          values: parameters.map((parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, world)]),
          path,
        });
        expectInTable(answer, path);
        if (!isEmptyAnswer(answer))
          expect([403, 404], `${path}: ${answer.text.slice(0, 300)}`).toContain(answer.status);
        expect(answer.text).not.toContain(foreign.subscriberEmail.split('@')[0]);
      }
    }
    for (const parameter of parameters.filter(({ names }) => names.some((name) => name.endsWith('uid')))) {
      const name = parameter.names[0] ?? '';
      const others = parameters
        .filter((other) => other !== parameter)
        .map((other) => [other.names[0] ?? '', rightValue(row, other, world)] as const);
      const answer = await ask(row, method, { world, values: [...others, [name, foreign.listUid]] });
      expectInTable(answer, name);
      expect([403, 404, 422], answer.text.slice(0, 300)).toContain(answer.status);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test('answers a path that names nothing with a 404 or a 422', async () => {
    if (!row.path.includes(':')) return;
    const before = await stateOf(app);
    const values = parameters.map(
      (parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, world)] as const,
    );
    for (const odd of [
      '0000000000000',
      'nonsense',
      '0',
      '-1',
      '99999999999999999999',
      "'",
      '%00',
      '%0d%0a',
      '%F0%9F%92%A9',
      '..%2f..',
      'x'.repeat(500),
      'x'.repeat(5_000),
      'a%40b',
      '%ZZ',
    ]) {
      const answer = await ask(row, method, { world, values, path: row.path.replace(/:\w+/g, odd) });
      expectInTable(answer, odd);
      // An integer that is not one's own is a 403, whether it is somebody's or not (decision D95).
      const statuses = /^\d+$/.test(odd) ? [403, 404, 422] : [404, 422];
      if (!isEmptyAnswer(answer)) expect(statuses, `${odd}: ${answer.text.slice(0, 300)}`).toContain(answer.status);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });
});

test('no line break reached anything that becomes a header', async () => {
  const columns: [string, string][] = [
    ['mail_list', 'name'],
    ['mail_list', 'from_name'],
    ['mail_list', 'from_email'],
    ['mail_list', 'default_subject'],
    ['campaign', 'name'],
    ['campaign', 'subject'],
    ['campaign', 'from_name'],
    ['campaign', 'from_email'],
    ['campaign', 'reply_to'],
    ['subscriber', 'email'],
    ['sending_server', 'name'],
    ['sending_server', 'default_from_email'],
  ];
  for (const [table, column] of columns) {
    const pattern = '[\u0001-\u001f\u007f-\u009f\u2028\u2029]';
    const [row] = await queryRows<{ count: number }>(
      app.ctx.db,
      sql`SELECT count(*)::int AS count FROM ${raw(table)} WHERE ${raw(column)} ~ ${pattern}`,
    );
    expect(row?.count, `${table}.${column}`).toBe(0);
  }
});

function isNeverTaken(what: string, { name, isForm }: { name: string; isForm: boolean }): boolean {
  if (what === 'too long' && LONG_TEXTS.has(name)) return false;
  // Queries and forms cannot carry half a surrogate pair: it arrives as a replacement character.
  return NEVER_TAKEN.has(what) && !(what === 'half a surrogate pair' && isForm);
}

/** Looking an address up finds nothing, which is no error. */
function isEmptyAnswer({ status, text }: RestAnswer): boolean {
  return status === 200 && text === '{"subscribers":[]}';
}

/** The path with one slot after the other from the foreign world, and with all of them. */
function mixedPaths(path: string, own: World, other: World): string[] {
  const [ownPath, otherPath] = [pathIn(own, path).split('/'), pathIn(other, path).split('/')];
  const slots = path.split('/').flatMap((part, index) => (part.startsWith(':') ? [index] : []));
  const mixed = slots.map((slot) => ownPath.map((part, index) => (index === slot ? otherPath[index] : part)).join('/'));
  // What both worlds call the same is nobody's.
  return [...new Set([...mixed, otherPath.join('/')])].filter((mixedPath) => mixedPath !== ownPath.join('/'));
}
