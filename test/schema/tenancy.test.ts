/**
 * Every query and mutation with every credential that must not open it, and with every other tenant's things (hard
 * cases E1, E2, E3): refused as it should be, nothing of the other tenant shown, and an unchanged database. The twin of
 * the walk over the REST rows; a new field is walked by being in the schema.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { subscriberIdOf } from '../../src/lib/ids.ts';
import type { Values } from '../support/mutation-world.ts';
import { badCredentials, disable, plantCanary, type BadCredential } from '../support/credentials.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';
import { changedSince, stateOf, type TableStates } from '../support/table-states.ts';
import { argumentsIn, rootFields, runRootField } from '../support/root-fields.ts';

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const smtp = { host: '127.0.0.1', port: 9, encryption: 'none' };
let own: World;
let foreign: World;
let disabled: World;
let bad: BadCredential[];
let canary: string;
let foreignId: string;

beforeAll(async () => {
  [own, foreign, disabled] = [await newWorld(app, smtp), await newWorld(app, smtp), await newWorld(app, smtp)];
  bad = await badCredentials(app, own);
  await disable(app, disabled);
  canary = await plantCanary(app, foreign);
  foreignId = String(subscriberIdOf(foreign.subscriberUid));
});

const PUBLIC = '{"public":true}';
const ANY_TOKEN = '{"authenticated":true}';
const REFUSED = /^(UNAUTHENTICATED|FORBIDDEN|ACCOUNT_DISABLED)$/;
/** Names that say whose thing is meant. */
const NAMES_A_THING = /^(uid|[a-z]\w*Uid|subscriber)$/;
const UNKNOWN_ID = '987654321';
const UNKNOWN_UID = 'fedcba9876543';

const cases = rootFields.map((root) => ({ name: `${root.kind} ${root.field.name}`, root }));

describe.each(cases.filter(({ root }) => root.scopes !== PUBLIC))('$name', ({ root }) => {
  let before: TableStates = new Map();
  beforeAll(async () => {
    before = await stateOf(app);
  });

  test('no bad credential opens it', async () => {
    for (const { name, token } of [...bad, { name: 'a disabled customer', token: disabled.token }]) {
      if (name === 'a token without scopes' && root.scopes === ANY_TOKEN) continue;
      const answer = await runRootField(app, root, { values: argumentsIn(own, root), token });
      expect(answer.codes[0], `${name}: ${answer.text.slice(0, 400)}`).toMatch(REFUSED);
      expect(answer.text, name).not.toContain(canary);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test("a customer's token opens nothing that is an administrator's", async () => {
    if (!root.scopes.includes('"admin":true') && !root.scopes.includes('"scope":"admin"')) return;
    for (const world of [own, foreign]) {
      const answer = await runRootField(app, root, { values: argumentsIn(world, root), token: own.token });
      expect(answer.codes[0], answer.text.slice(0, 400)).toMatch(REFUSED);
      expect(answer.text).not.toContain(canary);
    }
    expect(await changedSince(app, before)).toEqual([]);
  });

  test("another tenant's things open nothing", async () => {
    if (root.scopes.includes('"admin"')) return;
    const values = argumentsIn(foreign, root);
    const answer = await runRootField(app, root, { values, token: own.token });
    expect(answer.status, answer.text.slice(0, 400)).toBeLessThan(500);
    expect(answer.text).not.toContain(canary);
    expect(answer.text).not.toContain('INTERNAL_ERROR');
    const isNamed = JSON.stringify(values, (key, value) => (NAMES_A_THING.test(key) ? '\u0001' : value)).includes(
      '\\u0001',
    );
    if (!isNamed) return;
    expect(answer.codes.length, `not refused: ${answer.text.slice(0, 400)}`).toBeGreaterThan(0);
    expect(await changedSince(app, before)).toEqual([]);
  });
});

/** Every uid and integer id replaced by one that nobody has. */
function unknownInstead(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unknownInstead);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]: [string, unknown]) => {
    if (!NAMES_A_THING.test(key) || typeof inner !== 'string') return [key, unknownInstead(inner)];
    return [key, /^\d{1,9}$/.test(inner) ? UNKNOWN_ID : /^[0-9a-f]{13}$/.test(inner) ? UNKNOWN_UID : inner];
  });
  return Object.fromEntries(entries);
}

describe.each(
  cases.filter(({ root }) => !root.scopes.includes('"admin"') && root.field.args.length > 0 && root.scopes !== PUBLIC),
)('$name', ({ root }) => {
  test("another's thing is answered to the letter like one that nobody has, by uid and by integer id", async () => {
    const byUid = argumentsIn(foreign, root);
    if (JSON.stringify(byUid) === JSON.stringify(unknownInstead(byUid))) return;
    const byId = JSON.parse(JSON.stringify(byUid).replaceAll(foreign.subscriberUid, foreignId));
    const isByPerson = JSON.stringify(byUid).includes(foreign.subscriberUid);
    for (const values of isByPerson ? [byUid, byId] : [byUid]) {
      const theirs = await runRootField(app, root, { values, token: own.token });
      const nobodys = await runRootField(app, root, { values: unknownInstead(values) as Values, token: own.token });
      expect(theirs.text).toBe(nobodys.text);
    }
  });
});

test('what every query shows to its own tenant holds nothing of another', async () => {
  for (const { name, root } of cases.filter(({ root }) => root.kind === 'query' && !root.scopes.includes('"admin"'))) {
    const answer = await runRootField(app, root, { values: argumentsIn(own, root), token: own.token });
    expect(answer.text, name).not.toContain(canary);
    expect(answer.text, name).not.toContain('INTERNAL_ERROR');
  }
});
