/**
 * A value of the wrong type is told with all other faults. For them the row's mutation is run and rolled back: nothing may be left
 * of it, whatever the row does.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { parametersOf, type RowParameter } from '../../src/rest-facade/row-parameters.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { field } from '../support/mail-world.ts';
import { placesOf } from '../support/play-row.ts';
import { requestRow } from '../support/request-row.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, rightValue } from '../support/rest-world.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { storedBy } from '../support/stored-rows.ts';
import { tablesOf } from '../support/table-states.ts';

const receiver = await startSmtpReceiver();
afterAll(() => receiver.close());
const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
// Tries of a password are counted, and metrics of the process are written at any time.
const tables = (await tablesOf(app)).filter((name) => !/login_try|heartbeat|process/.test(name));

const WRONG: Readonly<Partial<Record<RowParameter['kind'], unknown>>> = {
  integer: 'abc',
  flag: 'perhaps',
  time: 'soon',
  object: 'abc',
  text: { a: '1' },
};
/** Their faults of types are found before anything else is read. */
const FILES = /import$|attachments$|file\/upload$/;

/** The parameter to be wrong: one with a type of its own, else a text. A form has texts only. */
function wrongOne(parameters: readonly RowParameter[], isForm: boolean): RowParameter | undefined {
  const typed = parameters.filter(({ kind, names: [name = ''] }) => WRONG[kind] !== undefined && !name.includes('['));
  return typed.find(({ kind }) => kind !== 'text') ?? (isForm ? undefined : typed[0]);
}

const found = await Promise.all(
  placesOf(rows)
    .filter(({ method, row }) => (method !== 'GET' || row.writes) && !FILES.test(row.path))
    .map(async (place) => ({ ...place, wrong: wrongOne(await parametersOf(place.row), place.row.takesFile === true) })),
);
const places = found.flatMap(({ wrong, ...place }) =>
  wrong ? [{ ...place, wrong, name: `${place.method} ${place.row.path}` }] : [],
);

describe.each(places)('$name', ({ row, method, wrong }) => {
  test(`names ${wrong.names[0]} and stores nothing`, async () => {
    const world = await newWorld(app, receiver.settings);
    const values = (await parametersOf(row)).map((parameter) => {
      const [name = ''] = parameter.names;
      return [name, parameter.names === wrong.names ? WRONG[wrong.kind] : rightValue(row, parameter, world)] as const;
    });
    const before = receiver.connections();
    const { result, stored } = await storedBy(app, tables, () => requestRow(app, { row, method, world, values }));
    expect(result.status, result.text).toBe(422);
    expect(Object.keys(Object(field(result, 'errors')))).toContain(wrong.names[0]);
    // A file is uploaded before the fields are read, and deleted again: its audit rows stay.
    expect(stored.filter(([table]) => !row.takesFile || table !== 'hot.audit_event')).toEqual([]);
    expect(receiver.connections()).toBe(before);
  });
});
