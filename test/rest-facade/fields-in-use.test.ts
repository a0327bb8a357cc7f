/** Removing a field beside what uses it (D58): a campaign that took its segment, and an import that begins in the same moment. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { CONTACT, LIST_BODY } from '../support/list-body.ts';
import { field, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker' });
const { db, database } = { db: app.ctx.db, database: app.ctx.database };
const owner = await app.newTenant();
const classic = await app.newTenant({ restDialect: 'classic' });

async function worldOf({ token }: { token: string }) {
  const call = (method: string, path: string, body: unknown = {}) =>
    app.rest(path, { method, ...(method === 'GET' ? {} : { body }), token });
  const list = String(field(await call('POST', '/lists', { ...LIST_BODY, contact: CONTACT }), 'list_uid'));
  await call('POST', `/lists/${list}/add-field`, { type: 'text', label: 'Nick', tag: 'NICK' });
  return { call, list };
}

test.each([
  ['standard', owner],
  ['classic', classic],
] as const)('a campaign under way keeps the fields of the segment it began with, %s', async (_dialect, tenant) => {
  const { call, list } = await worldOf(tenant);
  const rule = { field: { tag: 'NICK', text: { is: 'Ann' } } };
  const made = await call('POST', `/lists/${list}/segments`, { name: 'Anns', rule });
  const segment = String(field(made, 'segment_uid'));
  const name = `Spring ${list}`;
  await call('POST', '/campaigns', {
    ...{ list_uid: list, name, subject: 'Hi', from_email: 'n@x.co', from_name: 'N', html: '<p>Hello</p>' },
  });
  await db.execute(sql`
    UPDATE campaign SET status = 'paused', segment_snapshot = (
      SELECT jsonb_build_object('uid', uid, 'name', name, 'rule', rule) FROM segment WHERE uid = ${segment})
     WHERE name = ${name}`);
  await call('DELETE', `/segments/${segment}`);
  const refused = await call('DELETE', `/lists/${list}/fields/NICK`);
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(`campaign “${name}”`)]);
  const { uid } = Object((await queryRows(db, sql`SELECT uid FROM campaign WHERE name = ${name}`))[0]);
  const query = `mutation ($list: String!) { deleteListField(listUid: $list, field: "NICK") { ... on Error { code } } }`;
  const twin = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tenant.token}` },
    body: JSON.stringify({ query, variables: { list } }),
  });
  expect(await twin.json()).toEqual({ data: { deleteListField: { code: 'FIELD_IN_USE' } } });
  await db.execute(sql`UPDATE campaign SET status = 'done' WHERE uid = ${uid}`);
  expect((await call('DELETE', `/lists/${list}/fields/NICK`)).status).toBe(200);
});

test.each(['did', 'didNot'])('a segment keeps the field whose changes it counts, %s', async (name) => {
  const { call, list } = await worldOf(owner);
  const rule = { any: [{ tags: { hasAny: ['vip'] } }, { all: [{ [name]: { kind: 'changed', field: 'NICK' } }] }] };
  const made = await call('POST', `/lists/${list}/segments`, { name: 'Renamed', rule });
  const refused = await call('DELETE', `/lists/${list}/fields/NICK`);
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('segment “Renamed”')]);
  await call('DELETE', `/segments/${String(field(made, 'segment_uid'))}`);
  expect((await call('DELETE', `/lists/${list}/fields/NICK`)).status).toBe(200);
});

test('an import that begins while a field is being removed waits, and stores nothing under it', async () => {
  const { call, list } = await worldOf(owner);
  const form = new FormData();
  form.append('file', new Blob(['email,nick\nann@race.example,Annie\n']), 'people.csv');
  const waiting = () =>
    queryRows(
      db,
      sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%mail_list_import%'`,
    );
  const report = async (uid: string) => Object(field(await call('GET', `/lists/${list}/imports/${uid}`), 'import'));
  const uid = await database.transaction(async (tx) => {
    // As deleteListField does, before its commit.
    await tx.execute(sql`SELECT 1 FROM mail_list WHERE uid = ${list} FOR NO KEY UPDATE`);
    await tx.execute(
      sql`DELETE FROM list_field WHERE tag = 'NICK' AND list_id = (SELECT id FROM mail_list WHERE uid = ${list})`,
    );
    const begun = String(field(await call('POST', `/lists/${list}/import`, form), 'import_uid'));
    await until(async () =>
      (await waiting()).length > 0 || (await report(begun)).status === 'done' ? true : undefined,
    );
    return begun;
  });
  await until(async () => ((await report(uid)).status === 'done' ? true : undefined));
  const people = await queryRows<{ fields: object }>(
    db,
    sql`SELECT fields FROM subscriber WHERE email = 'ann@race.example'`,
  );
  expect(people).toEqual([{ fields: expect.not.objectContaining({ NICK: expect.anything() }) }]);
});
