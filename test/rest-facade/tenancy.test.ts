/**
 * Every row with every credential that must not open it, and with every other tenant's things (hard cases E1, E2, E3):
 * 401, 403 or 404, nothing of the other tenant in body or headers, and an unchanged database. Rows are found in the
 * table of rows, their parameters by letting them read: a new one is walked by being there.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { subscriberIdOf } from '../../src/lib/ids.ts';
import { parametersOf, type RowParameter } from '../../src/rest-facade/row-parameters.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { badCredentials, disable, plantCanary, type BadCredential } from '../support/credentials.ts';
import { startRestApp, type RestAnswer } from '../support/rest-app.ts';
import { requestRow } from '../support/request-row.ts';
import { newWorld, pathIn, rightValue, type World } from '../support/rest-world.ts';
import { changedSince, stateOf, type TableStates } from '../support/table-states.ts';

/** Whoever adds to this list opens a row to the whole world. */
const PUBLIC_ROWS = ['POST /user/login', 'POST /public/subscribers', 'GET /public/lists/:list_uid/captcha', 'GET /'];
/** Rows that whoever has a valid token may ask, whatever its scopes: they hold nothing of a tenant's. */
const NEED_NO_SCOPE = new Set([
  'GET /me',
  'GET /countries',
  'GET /currencies',
  'GET /languages',
  'GET /',
  'GET /plans',
  'GET /plans/:uid',
  'GET /extension_slots',
  'GET /segment_conditions',
]);
/**
 * What belongs to the operator's account and is shown to everybody (decision D33), and plugins, which belong to the installation: each
 * customer has settings of its own, and switches them on for itself.
 */
const EVERYBODYS = new Set([
  'POST /built_in_templates/:built_in/copy',
  'GET /plans/:uid',
  'GET /plugins/:vendor/:name/settings',
  'PATCH /plugins/:vendor/:name/settings',
  'POST /me/plugins/:vendor/:name/switch-on',
  'POST /me/plugins/:vendor/:name/switch-off',
]);

/** Free, not reached yet, and beyond what an id can be. */
const UNKNOWN_IDS = ['987654321', '4503599627370495', '0', '99999999999999999999'];

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
// Nothing listens there: what is refused never gets that far.
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
let own: World;
let foreign: World;
let disabled: World;
let bad: BadCredential[];
let canary: string;

beforeAll(async () => {
  [own, foreign, disabled] = [await newWorld(app, smtp), await newWorld(app, smtp), await newWorld(app, smtp)];
  bad = await badCredentials(app, own);
  await disable(app, disabled);
  canary = await plantCanary(app, foreign);
});

const cases = rows.flatMap((row) =>
  [row.method].flat().map((method) => ({ name: `${method} ${row.path}`, method, row })),
);
const guarded = cases.filter(({ row }) => row.access !== 'public');

function valuesFor(row: Row, parameters: readonly RowParameter[], world: World): [string, unknown][] {
  return parameters.map((parameter) => [parameter.names[0] ?? '', rightValue(row, parameter, world)]);
}

function expectNoCanary({ text, headers }: RestAnswer, what: string): void {
  expect(text, what).not.toContain(canary);
  expect(JSON.stringify([...headers]), what).not.toContain(canary);
}

test('the public rows are these', () => {
  const open = cases.filter(({ row }) => row.access === 'public').map(({ name }) => name);
  expect(open.filter((name) => !PUBLIC_ROWS.includes(name))).toEqual([]);
});

describe.each(guarded)('$name', ({ name, row, method }) => {
  let parameters: readonly RowParameter[] = [];
  let before: TableStates = new Map();
  beforeAll(async () => {
    parameters = await parametersOf(row);
    before = await stateOf(app);
  });

  test('no bad credential opens it', async () => {
    for (const { name: kind, token } of bad) {
      if (kind === 'a token without scopes' && NEED_NO_SCOPE.has(name)) continue;
      const answer = await requestRow(app, { row, method, world: own, values: valuesFor(row, parameters, own), token });
      expect(answer.status, `${kind}: ${answer.text.slice(0, 300)}`).toBe(
        kind === 'a token without scopes' ? 403 : 401,
      );
      expectNoCanary(answer, kind);
    }
    const values = valuesFor(row, parameters, disabled);
    const answer = await requestRow(app, { row, method, world: disabled, values, token: disabled.token });
    expect([401, 403], answer.text.slice(0, 300)).toContain(answer.status);
    expect(await changedSince(app, before)).toEqual([]);
  });

  test("a customer's token opens nothing that is an administrator's", async () => {
    if (row.access !== 'admin') return;
    for (const world of [own, foreign]) {
      const values = valuesFor(row, parameters, world);
      const answer = await requestRow(app, { row, method, world, values, token: own.token });
      expect(answer.status, answer.text.slice(0, 300)).toBe(403);
      expectNoCanary(answer, 'an administrator’s');
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test("another tenant's uids open nothing", async () => {
    if (row.access === 'admin' || EVERYBODYS.has(name)) return;
    const values = valuesFor(row, parameters, foreign).map(([key, value]): [string, unknown] => [
      key,
      key === 'EMAIL' ? foreign.subscriberEmail : key === 'customer_uid' ? foreign.customerUid : value,
    ]);
    for (const [what, path] of [
      ['everything of another', pathIn(foreign, row.path)],
      ['the parameters of another', pathIn(own, row.path)],
    ] as const) {
      if (what === 'everything of another' && !row.path.includes(':')) continue;
      if (what === 'the parameters of another' && !namesSomebodys(parameters)) continue;
      const answer = await requestRow(app, { row, method, world: own, values, path, token: own.token });
      expectNoCanary(answer, what);
      // Looking an address up finds nothing, which is no error.
      if (answer.status === 200 && /^\{"subscribers":\[\]\}$/.test(answer.text)) continue;
      expect([403, 404, 422], `${what}: ${answer.text.slice(0, 300)}`).toContain(answer.status);
      if (row.path.includes(':') && what === 'everything of another')
        expect([403, 404], answer.text.slice(0, 300)).toContain(answer.status);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test('an integer id that is not its own is a 403, whether somebody has it or not', async () => {
    const inPath = row.path.includes(':id');
    const isNamed = parameters.some(({ names }) => names.includes('subscriber'));
    if (!inPath && !isNamed) return;
    const answers: Pick<RestAnswer, 'status' | 'text'>[] = [];
    for (const id of [String(subscriberIdOf(foreign.subscriberUid)), ...UNKNOWN_IDS]) {
      const values = valuesFor(row, parameters, own).map(([key, value]): [string, unknown] => [
        key,
        key === 'subscriber' ? id : value,
      ]);
      const path = inPath ? pathIn({ ...own, subscriberUid: id }, row.path) : pathIn(own, row.path);
      const { status, text } = await requestRow(app, { row, method, world: own, values, path, token: own.token });
      answers.push({ status, text });
    }
    expect(answers[0]).toMatchObject({ status: 403 });
    expect(answers).toEqual(answers.map(() => answers[0]));
    expect(await changedSince(app, before)).toEqual([]);
  });

  test('what it shows to its own tenant holds nothing of another', async () => {
    if (method !== 'GET' || row.access === 'admin') return;
    const answer = await requestRow(app, {
      row,
      method,
      world: own,
      values: valuesFor(row, parameters, own),
      token: own.token,
    });
    expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(500);
    expectNoCanary(answer, name);
  });
});

/** Parameters that say whose thing is meant. Payment gateways are the installation's: everybody pays through the same. */
function namesSomebodys(parameters: readonly RowParameter[]): boolean {
  return parameters.some(({ names }) => names.some((one) => one !== 'gateway_uid' && /(^|_)uid$/.test(one)));
}
