/** Imports from upload to report on a real database: who is added, changed, refused, and that the numbers add up. */
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { fc } from '../../../support/property.ts';
import { describe, expect, test } from 'vitest';
import { eraseDeleted } from '../../../../src/domain/accounts/erase-deleted.ts';
import { addListField } from '../../../../src/domain/audience/add-list-field.ts';
import { addSubscriber } from '../../../../src/domain/audience/add-subscriber.ts';
import { deleteList } from '../../../../src/domain/audience/delete-list.ts';
import { suppress } from '../../../../src/domain/audience/suppression-store.ts';
import type { MailList } from '../../../../src/domain/audience/list-fields.ts';
import { RECORD_BYTES_MAX } from '../../../../src/domain/audience/imports/csv-reader.ts';
import { cancelImport } from '../../../../src/domain/audience/imports/cancel-import.ts';
import type { ListImport } from '../../../../src/domain/audience/imports/list-import.ts';
import { findOwnedImport } from '../../../../src/domain/audience/imports/find-owned-import.ts';
import { runListImport } from '../../../../src/domain/audience/imports/run-list-import.ts';
import { sql } from '../../../../src/db/database.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { NotFoundError, ValidationError, WrongStateError } from '../../../../src/lib/errors.ts';
import { importFile, peopleOf, rejectionsOf, uploadFile } from '../../../support/import-file.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const root = await createTestContext();
const ctx = await createTenant(root);
const never = new AbortController().signal;

const withBatches = (size: number, base: Context = ctx): Context => ({
  ...base,
  installation: { ...base.installation, limits: { ...base.installation.limits, importBatchSize: size } },
});

async function countersOf(list: MailList) {
  const [row] = await queryRows(
    ctx.db,
    sql`SELECT subscribed, unsubscribed, unconfirmed, pending FROM hot.list_counter WHERE customer_id = ${list.customerId} AND list_id = ${list.id}`,
  );
  return row;
}

async function jobsFor({ uid }: ListImport) {
  return queryRows(ctx.db, sql`SELECT 1 FROM graphile_worker._private_jobs WHERE key = ${`import:${uid}`}`);
}

function balance({ processed, added, updated, unchanged, rejected }: ListImport) {
  expect(added + updated + unchanged + rejected).toBe(processed);
}

describe('new people', () => {
  test('are subscribed, with their values, and the list counts them', async () => {
    const list = await newList(ctx);
    const done = await importFile(
      ctx,
      list,
      'Email;Vorname;Nachname\r\nAnna@Example.com;Änne;"Berg; von"\r\nboris@пример.рф;Борис;Ё\r\n',
    );
    expect(done).toMatchObject({
      status: 'done',
      encoding: 'utf-8',
      separator: ';',
      processed: 2,
      added: 2,
      rejected: 0,
    });
    expect(done.finishedAt).toBeInstanceOf(Date);
    const people = await peopleOf(ctx, list);
    expect([...people.keys()]).toEqual(['Anna@Example.com', 'boris@пример.рф']);
    expect(people.get('Anna@Example.com')).toMatchObject({
      ...{ status: 'subscribed', source: `import:${done.uid}`, tags: [] },
      fields: { FIRST_NAME: 'Änne', LAST_NAME: 'Berg; von' },
    });
    expect(await countersOf(list)).toEqual({ subscribed: 2, unsubscribed: 0, unconfirmed: 0, pending: 0 });
    await expect(addSubscriber(ctx, { listUid: list.uid, email: 'boris@xn--e1afmkfd.xn--p1ai' })).rejects.toMatchObject(
      { code: 'EMAIL_TAKEN' },
    );
    expect(await queryRows(ctx.db, sql`SELECT 1 FROM import_chunk WHERE import_id = ${done.id}`)).toEqual([]);
  });

  test.each([
    ['windows-1252', Buffer.from('email;first name\na@x.fr;Hélène\nb@x.fr;François\n', 'latin1')],
    ['utf-16le', Buffer.from('\ufeffemail\tfirst name\r\na@x.fr\tHélène\r\nb@x.fr\tFrançois\r\n', 'utf16le')],
    ['utf-8', Buffer.from('\ufeffemail,first name\ra@x.fr,Hélène\rb@x.fr,François\r')],
  ])('from a file in %s, in pieces that cut letters', async (encoding, file) => {
    const list = await newList(ctx);
    const done = await importFile(ctx, list, file, { pieceBytes: 17 });
    expect(done).toMatchObject({ status: 'done', encoding, added: 2, bytesProcessed: done.bytesTotal });
    expect([...(await peopleOf(ctx, list)).values()].map((person) => person.fields['FIRST_NAME'])).toEqual([
      'Hélène',
      'François',
    ]);
  });

  test('may come with a status and tags, and everybody with the tag of the import', async () => {
    const list = await newList(ctx);
    const file =
      'email,status,tags\na@x.com,,"VIP, new"\nb@x.com,Unsubscribed,vip\nc@x.com,pending,\nd@x.com,bounced,\n';
    const done = await importFile(ctx, list, file, { tag: 'Spring' });
    expect(done).toMatchObject({ added: 3, rejected: 1, tag: 'Spring' });
    const people = await peopleOf(ctx, list);
    expect([...people.values()].map(({ status, tags }) => [status, tags])).toEqual([
      ['subscribed', ['Spring', 'VIP', 'new']],
      ['unsubscribed', ['Spring', 'vip']],
      ['unconfirmed', ['Spring']],
    ]);
    expect(await rejectionsOf(ctx, done)).toEqual({
      5: '“bounced” is no status: use subscribed, unsubscribed or unconfirmed',
    });
    expect(await countersOf(list)).toEqual({ subscribed: 1, unsubscribed: 1, unconfirmed: 1, pending: 0 });
    expect(
      await queryRows(ctx.db, sql`SELECT name FROM list_tag WHERE list_id = ${list.id} ORDER BY name_key`),
    ).toEqual([{ name: 'new' }, { name: 'Spring' }, { name: 'VIP' }]);
    // The first status of others than the subscribed is in their history.
    expect(
      await queryRows(ctx.db, sql`SELECT status, source FROM consent_event WHERE list_id = ${list.id} ORDER BY id`),
    ).toEqual([
      { status: 'unsubscribed', source: `import:${done.uid}` },
      { status: 'unconfirmed', source: `import:${done.uid}` },
    ]);
  });
});

describe('people who are there', () => {
  test('are changed only where the file says something new', async () => {
    const list = await newList(ctx);
    await importFile(ctx, list, 'email,first name,last name\na@x.com,Anna,Berg\nb@x.com,Ben,Tal\nc@x.com,Cem,\n');
    const before = await peopleOf(ctx, list);
    const done = await importFile(
      ctx,
      list,
      'email,first name,last name\nA@x.com,Anna,Berg\nb@x.com,,Dal\nc@x.com,Cem,Oz\nnew@x.com,N,\n',
    );
    expect(done).toMatchObject({ added: 1, updated: 2, unchanged: 1, rejected: 0 });
    const after = await peopleOf(ctx, list);
    expect(after.get('a@x.com')).toEqual(before.get('a@x.com'));
    // An empty cell says nothing.
    expect(after.get('b@x.com')?.fields).toEqual({ FIRST_NAME: 'Ben', LAST_NAME: 'Dal' });
    expect(after.get('c@x.com')?.fields).toEqual({ FIRST_NAME: 'Cem', LAST_NAME: 'Oz' });
    expect(after.get('b@x.com')?.source).toBe(before.get('b@x.com')?.source);
  });

  test('the same file again touches no row', async () => {
    const list = await newList(ctx);
    const file = `email,first name,tags\n${Array.from({ length: 50 }, (_, n) => `p${n}@x.com,"N ""${n}"" \\",a;b`).join('\n')}`;
    await importFile(ctx, list, file);
    const versions = () =>
      queryRows(ctx.db, sql`SELECT id, xmin::text, ctid::text FROM subscriber WHERE list_id = ${list.id} ORDER BY id`);
    const before = await versions();
    expect(await importFile(withBatches(7), list, file)).toMatchObject({ added: 0, updated: 0, unchanged: 50 });
    expect(await versions()).toEqual(before);
  });

  test('are left alone when the uploader says so', async () => {
    const list = await newList(ctx);
    await importFile(ctx, list, 'email,first name\na@x.com,Anna\n');
    const done = await importFile(
      ctx,
      list,
      'email,first name,tags\na@x.com,Other,t\nb@x.com,Ben,t\nb@x.com,Benno,u\n',
      { updateExisting: false },
    );
    expect(done).toMatchObject({ added: 1, updated: 0, unchanged: 2 });
    const people = await peopleOf(ctx, list);
    expect(people.get('a@x.com')).toMatchObject({ fields: { FIRST_NAME: 'Anna' }, tags: [] });
    expect(people.get('b@x.com')).toMatchObject({ fields: { FIRST_NAME: 'Ben' }, tags: ['t'] });
  });

  test('who unsubscribed stays so; others follow the file, with an entry in their history', async () => {
    const list = await newList(ctx);
    await importFile(
      ctx,
      list,
      'email,status\nout@x.com,unsubscribed\nmaybe@x.com,unconfirmed\nin@x.com,subscribed\nstay@x.com,subscribed\n',
    );
    const file =
      'email,status,first name\nout@x.com,subscribed,O\nmaybe@x.com,subscribed,M\nin@x.com,unsubscribed,I\nstay@x.com,unconfirmed,S\n';
    const done = await importFile(ctx, list, file);
    expect(done).toMatchObject({ updated: 4 });
    expect(
      [...(await peopleOf(ctx, list)).values()].map(({ status, fields }) => [status, fields['FIRST_NAME']]),
    ).toEqual([
      ['unsubscribed', 'O'],
      ['subscribed', 'M'],
      ['unsubscribed', 'I'],
      ['subscribed', 'S'],
    ]);
    const history = await queryRows(
      ctx.db,
      sql`SELECT status FROM consent_event WHERE list_id = ${list.id} AND source = ${`import:${done.uid}`} ORDER BY id`,
    );
    expect(history).toEqual([{ status: 'subscribed' }, { status: 'unsubscribed' }]);
    expect(await countersOf(list)).toEqual({ subscribed: 2, unsubscribed: 2, unconfirmed: 0, pending: 0 });
  });

  test('a suppressed address is refused, on this list and by the whole installation', async () => {
    const list = await newList(ctx);
    await suppress(ctx.db, { customerId: list.customerId, emailKey: 'bounced@x.com', reason: 'bounce' });
    await suppress(ctx.db, { customerId: 0n, emailKey: 'erased@x.com', reason: 'erased' });
    const done = await importFile(ctx, list, 'email\nok@x.com\nBounced@X.com\nerased@x.com\n');
    expect(done).toMatchObject({ added: 1, rejected: 2 });
    expect(await rejectionsOf(ctx, done)).toEqual({
      3: 'the address is suppressed (bounce)',
      // Why the installation does is its own business.
      4: 'the address is suppressed',
    });
  });
});

describe('lines that cannot be taken', () => {
  test('are kept with their number and a reason; the others go in', async () => {
    const list = await newList(ctx);
    await addListField(ctx, list.uid, { type: 'number', label: 'Age', tag: 'AGE' });
    await addListField(ctx, list.uid, { type: 'datetime', label: 'Birthday', tag: 'BORN' });
    const lines = [
      'email,first name,age,birthday',
      'ok@x.com,"two\nlines",42,1984-02-29',
      'no-address,A,1,',
      ',B,1,',
      'age@x.com,C,old,',
      'born@x.com,D,1,2023-02-29',
      `nul@x.com,E\u0000,1,`,
      'many@x.com,F,1,,x,y',
      '',
      ',,,',
      '"open@x.com,G',
      `long@x.com,${'x'.repeat(4_001)},1,`,
      'last@x.com,"=1+1",-5,2026-01-01 10:00:00',
    ];
    const done = await importFile(ctx, list, lines.join('\n'));
    expect(await rejectionsOf(ctx, done)).toEqual({
      4: '“no-address” is not a valid email address',
      5: 'the email address is missing',
      6: 'AGE must be a number',
      7: 'BORN must be a date such as 2026-12-31 or 2026-12-31 23:59:00',
      8: 'FIRST_NAME must not contain control characters',
      9: 'the line has 6 cells, the file has 4 columns',
      12: 'a quote in this line is never closed',
      13: 'FIRST_NAME may not be greater than 4000 characters',
    });
    expect(done).toMatchObject({ added: 2, rejected: 8, processed: 10 });
    const people = await peopleOf(ctx, list);
    expect(people.get('ok@x.com')?.fields).toEqual({ FIRST_NAME: 'two\nlines', AGE: '42', BORN: '1984-02-29' });
    expect(people.get('last@x.com')?.fields).toMatchObject({ FIRST_NAME: '=1+1', AGE: '-5' });
  });
});

test('a line over 1 MiB is called that, and the lines around it go in', async () => {
  const list = await newList(ctx);
  const long = 'x'.repeat(RECORD_BYTES_MAX + 10);
  const lines = [
    'email,first name',
    'a@x.com,A',
    `long@x.com,${long}`,
    `quoted@x.com,"${long}"`,
    'b@x.com,B',
    '"open@x.com,C',
    'd@x.com,D',
  ];
  const done = await importFile(ctx, list, lines.join('\n'));
  expect(await rejectionsOf(ctx, done)).toEqual({
    3: 'the line is longer than 1 MiB',
    4: 'the line is longer than 1 MiB',
    6: 'a quote in this line is never closed',
  });
  expect(done).toMatchObject({ added: 3, rejected: 3 });
});

test('one person on several lines is one person, whatever the size of the batches', async () => {
  const person = fc.record({
    n: fc.integer({ min: 0, max: 6 }),
    first: fc.constantFrom('', 'A', 'B'),
    last: fc.constantFrom('', 'X', 'Y'),
    tag: fc.constantFrom('', 't', 'U', 'T'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(person, { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 2, max: 9 }),
      async (people, size) => {
        const file = `email,first name,last name,tags\n${people.map(({ n, first, last, tag }) => `p${n}@x.com,${first},${last},${tag}`).join('\n')}`;
        const [whole, pieces] = [await newList(ctx), await newList(ctx)];
        const once = await importFile(withBatches(1_000), whole, file);
        const often = await importFile(withBatches(size), pieces, file);
        const rows = async (list: MailList) =>
          [...(await peopleOf(ctx, list)).values()]
            .map(({ email, fields, tags }) => ({ email, fields, tags }))
            .toSorted((a, b) => (a.email < b.email ? -1 : 1));
        expect(await rows(pieces)).toEqual(await rows(whole));
        const counts = ({ processed, added, updated, unchanged }: ListImport) => ({
          processed,
          added,
          others: updated + unchanged,
        });
        expect(counts(often)).toEqual(counts(once));
        balance(once);
      },
    ),
    { numRuns: 8 },
  );
});

describe('the life of an import', () => {
  const people = (count: number) =>
    `email,first name\n${Array.from({ length: count }, (_, n) => `p${n}@x.com,N${n}`).join('\n')}`;

  test('stopped between batches, it goes on in a new job where it stood', async () => {
    const list = await newList(ctx);
    const small = withBatches(10);
    const queued = await uploadFile(small, list, people(95));
    expect(await jobsFor(queued)).toHaveLength(1);
    await ctx.db.execute(sql`DELETE FROM graphile_worker._private_jobs`);
    const stop = new AbortController();
    const running = runListImport(small, queued, stop.signal);
    await untilSomeAreProcessed(queued.uid);
    stop.abort();
    const outcome = await running;
    if (outcome === 'stopped') expect(await jobsFor(queued)).toHaveLength(1);
    expect(await runListImport(small, queued, never)).toBe(outcome === 'stopped' ? 'done' : 'over');
    expect(await findOwnedImport(ctx, queued.uid)).toMatchObject({ status: 'done', processed: 95, added: 95 });
    expect((await peopleOf(ctx, list)).size).toBe(95);
  });

  test('two processes at once write every line once', async () => {
    const list = await newList(ctx);
    const small = withBatches(5);
    const queued = await uploadFile(small, list, people(200));
    const outcomes = await Promise.all([runListImport(small, queued, never), runListImport(small, queued, never)]);
    if (!outcomes.includes('done')) await runListImport(small, queued, never);
    expect(await findOwnedImport(ctx, queued.uid)).toMatchObject({
      status: 'done',
      processed: 200,
      added: 200,
      unchanged: 0,
    });
    expect((await peopleOf(ctx, list)).size).toBe(200);
  });

  test('somebody who is added meanwhile by another way is not a second person', async () => {
    const list = await newList(ctx);
    const small = withBatches(20);
    const queued = await uploadFile(small, list, people(400));
    const running = runListImport(small, queued, never);
    await untilSomeAreProcessed(queued.uid);
    const last = await addSubscriber(ctx, { listUid: list.uid, email: 'p399@x.com' }).catch((error: unknown) => error);
    expect(await running).toBe('done');
    const done = await findOwnedImport(ctx, queued.uid);
    balance(done);
    expect((await peopleOf(ctx, list)).size).toBe(400);
    expect(done.added).toBe(last instanceof ValidationError ? 400 : 399);
  });

  test('cancelled while it runs, it takes no line more, and what was taken is counted', async () => {
    const list = await newList(ctx);
    const small = withBatches(5);
    const queued = await uploadFile(small, list, people(2_000));
    const running = runListImport(small, queued, never);
    await untilSomeAreProcessed(queued.uid);
    const cancelled = await cancelImport(ctx, queued.uid);
    expect(cancelled).toMatchObject({ status: 'cancelled', finishedAt: expect.any(Date) });
    expect(await running).toBe('over');
    expect((await findOwnedImport(ctx, queued.uid)).processed).toBe(cancelled.processed);
    expect((await peopleOf(ctx, list)).size).toBe(cancelled.added);
    expect(await queryRows(ctx.db, sql`SELECT 1 FROM import_chunk WHERE import_id = ${queued.id}`)).toEqual([]);
    await expect(cancelImport(ctx, queued.uid)).rejects.toBeInstanceOf(WrongStateError);
    expect(await runListImport(ctx, queued, never)).toBe('over');
  });

  test('the list deleted while it runs takes everybody with it', async () => {
    const list = await newList(ctx);
    const small = withBatches(5);
    const queued = await uploadFile(small, list, people(2_000));
    const running = runListImport(small, queued, never);
    await untilSomeAreProcessed(queued.uid);
    await deleteList(ctx, list.uid);
    expect(await running).toBe('over');
    expect(await eraseDeleted(ctx, { isStopping: () => false })).toBe(true);
    expect((await peopleOf(ctx, list)).size).toBe(0);
    await expect(findOwnedImport(ctx, queued.uid)).rejects.toBeInstanceOf(NotFoundError);
  });
});

async function untilSomeAreProcessed(uid: string): Promise<void> {
  while ((await findOwnedImport(ctx, uid)).processed === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}
