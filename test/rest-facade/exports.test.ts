/** A list as a download (decision D47): everything comes back by an import, and nothing runs in a spreadsheet (F8). */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { fc } from '../support/property.ts';
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { findOwnedList } from '../../src/domain/audience/find-owned-list.ts';
import { runListImport } from '../../src/domain/audience/imports/run-list-import.ts';
import { viewerContext } from '../support/viewer-context.ts';
import { newUid } from '../../src/lib/ids.ts';
import { countStatements } from '../support/count-statements.ts';
import { uploadFile } from '../support/import-file.ts';
import { givePlan } from '../support/plans.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;

interface List {
  readonly id: bigint;
  readonly uid: string;
}

async function newList({ customerId }: RestTenant, tags: readonly string[]): Promise<List> {
  const uid = newUid();
  const [row] = await queryRows<{ id: bigint }>(
    db,
    sql`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
    VALUES (${customerId}, ${uid}, 'List', 'Subject', 'list@sender.example', 'Sender') RETURNING id`,
  );
  const id = row?.id ?? 0n;
  await db.execute(sql`INSERT INTO list_field (customer_id, uid, list_id, type, label, tag)
    SELECT ${customerId}, left(md5(${uid} || t), 13), ${id}, CASE WHEN t = 'SCORE' THEN 'number' ELSE 'text' END, t, t FROM unnest(${[...tags]}::text[]) t`);
  return { id, uid };
}

interface Person {
  readonly email: string;
  readonly status: string;
  readonly tags: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
}

async function addPeople({ customerId }: RestTenant, list: List, people: readonly Person[]): Promise<void> {
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, fields, tags)
    SELECT ${customerId}, ${list.id}, p ->> 'email', lower(p ->> 'email'), p ->> 'status', p -> 'fields',
           ARRAY(SELECT jsonb_array_elements_text(p -> 'tags'))
      FROM jsonb_array_elements(${JSON.stringify(people)}::jsonb) WITH ORDINALITY AS a (p, no) ORDER BY no`);
}

async function peopleOf({ customerId }: RestTenant, { id }: List): Promise<Person[]> {
  return queryRows<Person>(
    db,
    sql`SELECT email, status, tags, fields FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${id} ORDER BY id`,
  );
}

async function importInto(tenant: RestTenant, list: List, csv: string) {
  const ctx = await viewerContext(app.ctx, tenant.customerId);
  const queued = await uploadFile(ctx, await findOwnedList(ctx, list.uid), csv);
  await runListImport(ctx, queued, new AbortController().signal);
  const [row] = await queryRows<{ added: number; rejected: number }>(
    db,
    sql`SELECT added, rejected FROM mail_list_import WHERE uid = ${queued.uid}`,
  );
  return row;
}

const download = (tenant: RestTenant, { uid }: List) => app.rest(`/lists/${uid}/export`, { token: tenant.token });

// What the database and a field take: no control characters but line ends and tabs, no halves of letters.
const hostileText = fc
  .tuple(
    fc.constantFrom('', '=', '+', '-', '@', '\t', '\r', "'", "'=", "''@", '"', ',', ';', ' ', '\n', '\\', '=cmd|'),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom('', '\r\n', '"', "'", ' ', '\\', ',x'),
  )
  .map((parts) =>
    parts.join('').replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffd\u2028\u2029]/g, ''),
  )
  .filter((text) => text.trim() !== '' && text.isWellFormed());
const hostileTag = hostileText.map((text) => text.replace(/[\r\n\t,]/g, '').trim()).filter((text) => text !== '');

test('10,000 random cells come back as they were, and no cell is a formula', async () => {
  const tenant = await app.newTenant();
  const tags = ['FIRST_NAME', 'NOTE', 'MORE', 'SCORE'];
  const [from, to] = [await newList(tenant, tags), await newList(tenant, tags)];
  const people = fc
    .sample(fc.tuple(hostileText, hostileText, hostileText, fc.array(hostileTag, { maxLength: 3 })), {
      numRuns: 3_400,
      seed: 11,
    })
    .map(([FIRST_NAME, NOTE, MORE, some], n): Person => {
      const start = ['', '+', '-', '=', "'", "'+"][n % 6] ?? '';
      const unique = [...new Map(some.map((tag) => [tag.normalize('NFC').toLowerCase(), tag])).values()];
      const status = ['subscribed', 'unsubscribed', 'unconfirmed'][n % 3] ?? '';
      return {
        email: `${start}p${n}@person.example`,
        status,
        tags: unique,
        fields: { FIRST_NAME, NOTE, MORE, SCORE: String(n - 1_700) },
      };
    });
  await addPeople(tenant, from, people);
  const exported = await download(tenant, from);
  expect(exported.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(exported.headers.get('content-disposition')).toBe(`attachment; filename="list-${from.uid}.csv"`);
  expect(cellsIn(exported.text).filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
  expect(await importInto(tenant, to, exported.text)).toEqual({ added: people.length, rejected: 0 });
  const came = await peopleOf(tenant, to);
  expect(came).toHaveLength(people.length);
  const wrong = came.filter((person, n) => JSON.stringify(sorted(person)) !== JSON.stringify(sorted(people[n])));
  expect(wrong.slice(0, 3)).toEqual([]);
});

/** The cells of a file as a spreadsheet sees them (RFC 4180). */
function cellsIn(csv: string): string[] {
  return Array.from(csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?:,|\r\n)/g), ([, quoted, plain]) =>
    (quoted ?? plain ?? '').replaceAll('""', '"'),
  );
}

function sorted(person: Person | undefined) {
  return person && { ...person, fields: Object.entries(person.fields).toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

test('has a header, everybody once and in order, in a statement a page', async () => {
  const tenant = await app.newTenant();
  const list = await newList(tenant, ['FIRST_NAME']);
  const people = Array.from({ length: 4_100 }, (_, n) => ({
    email: `p${n}@person.example`,
    status: 'subscribed',
    tags: ['a'],
    fields: {},
  }));
  await addPeople(tenant, list, people);
  const { result, statements } = await countStatements(() => download(tenant, list));
  const [header, ...lines] = result.text.split('\r\n');
  expect(header).toBe('EMAIL,STATUS,TAGS,FIRST_NAME,SOURCE,CREATED_AT,UPDATED_AT');
  expect(lines.slice(0, -1).map((line) => line.split(',')[0])).toEqual(people.map(({ email }) => email));
  expect(lines[0]).toMatch(/^p0@person\.example,subscribed,a,,,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{4}/);
  expect(statements.filter((text) => /FROM subscriber/.test(text))).toHaveLength(3);
});

test('an empty list is a header; a plan that leaves exports out refuses; others’ lists are theirs', async () => {
  const [tenant, other] = [await app.newTenant(), await app.newTenant()];
  const list = await newList(tenant, []);
  expect((await download(tenant, list)).text).toBe('EMAIL,STATUS,TAGS,SOURCE,CREATED_AT,UPDATED_AT\r\n');
  expect((await download(other, list)).status).toBe(403);
  expect((await download(tenant, { ...list, uid: '0123456789abc' })).status).toBe(404);
  await givePlan(db, tenant.customerId, { list_export: 'no' });
  const refused = await download(tenant, list);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('exporting lists')]);
});
