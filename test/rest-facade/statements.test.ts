/**
 * No row's and no query's number of statements grows with the size of the page (hard case D11): every index and every
 * connection is asked for ten rows and for a hundred. They are found by what they answer; a new one is walked by being
 * there.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { parametersOf } from '../../src/rest-facade/row-parameters.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { cloneEverything } from '../support/clone-rows.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startRestApp } from '../support/rest-app.ts';
import { requestRow } from '../support/request-row.ts';
import { newWorld, rightValue, type World } from '../support/rest-world.ts';
import { argumentsIn, rootFields, runRootField } from '../support/root-fields.ts';

const app = await startRestApp();
const COPIES = 120;
let world: World;
let grown: string[] = [];

beforeAll(async () => {
  world = await newWorld(app, { host: '127.0.0.1', port: 9, encryption: 'none' });
  grown = await cloneEverything(app, world.customerId, COPIES);
});

test('there is something to page through', () => {
  expect(grown).toEqual(
    expect.arrayContaining(['mail_list', 'subscriber', 'campaign', 'sending_server', 'api_token', 'list_field']),
  );
});

const indexes = rows.filter(({ answers }) => answers?.kind === 'page');

describe('rows', () => {
  test.each(indexes.map((row) => ({ path: row.path, row })))('$path', NOISE, async ({ row }) => {
    const parameters = await parametersOf(row);
    const ask = async (perPage: number) => {
      // Without filters: most rows on the page.
      const values = parameters
        .filter(({ names }) => names[0] === 'list_uid')
        .map((one) => [one.names[0] ?? '', rightValue(row, one, world)] as const);
      const { result, statements } = await countStatements(() =>
        requestRow(app, { row, method: 'GET', world, values: [...values, ['per_page', perPage]] }),
      );
      expect(result.status, result.text.slice(0, 300)).toBe(200);
      const length = (result.body as { data: unknown[] }).data.length;
      return { length, statements };
    };
    // The first one of a minute notes the use of the token.
    await ask(1);
    const [few, many] = [await ask(10), await ask(100)];
    expect(many.statements, many.statements.join('\n')).toHaveLength(few.statements.length);
    expect(many.length).toBeGreaterThanOrEqual(few.length);
  });
});

const connections = rootFields.filter(({ field }) => field.args.some(({ name }) => name === 'first'));

describe('connections', () => {
  test.each(connections.map((root) => ({ name: root.field.name, root })))('$name', NOISE, async ({ root }) => {
    const token = root.scopes.includes('admin') ? app.adminToken : world.token;
    const ask = async (first: number) => {
      // What it cannot do without; filters would leave few rows.
      const needed = new Set(root.field.args.filter(({ type }) => String(type).endsWith('!')).map(({ name }) => name));
      const named = Object.fromEntries(Object.entries(argumentsIn(world, root)).filter(([name]) => needed.has(name)));
      const { result, statements } = await countStatements(() =>
        runRootField(app, root, { values: { ...named, first }, token }),
      );
      expect(result.codes, result.text.slice(0, 300)).toEqual([]);
      return statements;
    };
    await ask(1);
    // A hundred of everything there is would be more than one document may ask for.
    const [few, many] = [await ask(8), await ask(80)];
    expect(many, many.join('\n')).toHaveLength(few.length);
  });
});
