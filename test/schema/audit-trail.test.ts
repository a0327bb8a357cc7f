/**
 * The audit trail (hard case E22): every mutation of the schema, run with right values, leaves exactly one row that says
 * who, what, when and from where, and holds none of the values. The mutations are read from the schema: a new one is
 * walked by being there.
 */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { countStatements } from '../support/count-statements.ts';
import { isForAdmins, mutations, rightArguments, runMutation, type Values } from '../support/mutation-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld, type World } from '../support/rest-world.ts';

const app = await startRestApp({ OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const receiver = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] });
let smtp: World['smtp'] = {};
beforeAll(async () => {
  const server = receiver.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  smtp = { host: '127.0.0.1', port: typeof address === 'object' ? address?.port : 0, encryption: 'none' };
});
afterAll(() => new Promise<void>((resolve) => receiver.close(() => resolve())));

interface Row extends Record<string, unknown> {
  id: bigint;
  operation: string;
  target_uid: string | null;
  fields: string[];
}

const newest = async () =>
  (await queryRows<{ id: bigint }>(app.ctx.db, sql`SELECT coalesce(max(id), 0) AS id FROM hot.audit_event`))[0]?.id ??
  0n;
const since = (id: bigint) =>
  queryRows<Row>(app.ctx.db, sql`SELECT * FROM hot.audit_event WHERE id > ${id} ORDER BY id`);

const peopleOf = async (listUid: string) =>
  (
    await queryRows(
      app.ctx.db,
      sql`
      SELECT 1 FROM subscriber s JOIN mail_list l ON l.customer_id = s.customer_id AND l.id = s.list_id
       WHERE l.uid = ${listUid}`,
    )
  ).length;

/** All texts among the values given. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** What these write is the record itself. */
const HAS_OWN_RECORD = new Set(['recordEvents']);
const recorded = mutations.filter(({ name }) => !HAS_OWN_RECORD.has(name));

describe.each(recorded.map((mutation) => ({ name: mutation.name, mutation })))('$name', ({ name, mutation }) => {
  test('leaves one row when it goes well and none when it is refused', async () => {
    const world = await newWorld(app, smtp);
    const before = await newest();
    const values: Values = rightArguments(mutation, world);
    const answer = await runMutation(app, mutation, { values, world });
    const rows = await since(before);
    if (answer.isRefused) return expect(rows).toEqual([]);
    expect(rows).toEqual([
      expect.objectContaining({
        operation: name,
        entry_point: 'graphql',
        ip_address: '127.0.0.1',
        user_uid: expect.stringMatching(/^[0-9a-f]{13}$/),
        at: expect.any(Date),
      }),
    ]);
    const [row] = rows;
    if (name !== 'logIn' && name !== 'signIn') expect(row?.['token_uid']).toMatch(/^[0-9a-f]{13}$/);
    if (!isForAdmins(mutation) || /^(update|enable|disable)Customer$/.test(name))
      expect(row).toMatchObject({ customer_id: world.customerId });
    // Names of inputs may be kept, and the uid of what it was done to; nothing else that was given.
    const kept = JSON.stringify(
      // Its own time may read like a time of day or a price that was given: `09:00`, `9.99`.
      Object.values({ ...row, at: null, target_uid: null, operation: '', fields: [], ip_address: '' }),
      (_, value: unknown) => (typeof value === 'bigint' ? '' : value),
    );
    for (const text of textsIn(values).filter((one) => one.length > 3)) expect(kept).not.toContain(text);
    const declared = new Set(row?.fields);
    for (const text of textsIn(values)) expect(declared.has(text)).toBe(false);
  });
});

test('a REST call leaves the same row, with its own entry point', async () => {
  const world = await newWorld(app, smtp);
  const before = await newest();
  const { status } = await app.rest(`/lists/${world.listUid}`, {
    method: 'PATCH',
    token: world.token,
    body: { name: 'Other' },
  });
  expect(status).toBe(200);
  expect(await since(before)).toEqual([
    expect.objectContaining({
      operation: 'updateList',
      entry_point: 'rest',
      target_uid: world.listUid,
      fields: ['name', 'uid'],
    }),
  ]);
});

test('a row cannot be changed', async () => {
  await expect(app.ctx.db.execute(sql`UPDATE hot.audit_event SET operation = 'nothing'`)).rejects.toThrow(
    'never changed',
  );
});

test('many changes at once share their statements', async () => {
  const world = await newWorld(app, smtp);
  const before = await newest();
  const add = (no: number) =>
    app.rest('/subscribers', {
      method: 'POST',
      token: world.token,
      body: { list_uid: world.listUid, EMAIL: `n${no}@many.example` },
    });
  const { result, statements } = await countStatements(async () => {
    // Nobody can write a row while this transaction lasts.
    const answers = await app.ctx.database.transaction(async (tx) => {
      await tx.execute(sql`LOCK TABLE hot.audit_event IN SHARE ROW EXCLUSIVE MODE`);
      const asked = Promise.all(Array.from({ length: 50 }, (_, no) => add(no)));
      await expect.poll(() => peopleOf(world.listUid)).toBe(51);
      return { asked };
    });
    return answers.asked;
  });
  expect(result.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201));
  expect(await since(before)).toHaveLength(50);
  // The lock, the first row, and all that came while it waited.
  expect(statements.filter((text) => text.includes('audit_event')).length).toBeLessThanOrEqual(4);
});

describe('reading', () => {
  const TRAIL = `query ($customerUid: String, $everybody: Boolean, $after: String) {
    auditEvents(first: 3, customerUid: $customerUid, everybody: $everybody, after: $after) { ... on Error { code message } ... on ValidationError { fields { field } } ... on AuditEventConnection {
      nodes { at operation targetUid fields entryPoint ipAddress userEmail tokenKind isByOperator customerUid }
      pageInfo { hasNextPage endCursor } } } }`;
  const read = async (token: string, variables: object = {}) => {
    const response = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: TRAIL, variables }),
    });
    return JSON.parse(await response.text());
  };
  const patch = (path: string, token: string, body: object) => app.rest(path, { method: 'PATCH', token, body });

  test('a customer reads its own trail, page by page, and sees that the operator acted, not who', async () => {
    const world = await newWorld(app, smtp);
    for (const name of ['A', 'B', 'C']) await patch(`/lists/${world.listUid}`, world.token, { name });
    await patch(`/customers/${world.customerUid}`, app.adminToken, { first_name: 'New' });
    const { nodes, pageInfo } = (await read(world.token)).data.auditEvents;
    expect(nodes).toMatchObject([
      {
        operation: 'updateCustomer',
        isByOperator: true,
        userEmail: null,
        ipAddress: null,
        fields: expect.arrayContaining(['firstName']),
      },
      {
        operation: 'updateList',
        isByOperator: false,
        userEmail: world.email,
        ipAddress: '127.0.0.1',
        targetUid: world.listUid,
      },
      { operation: 'updateList' },
    ]);
    const rest = (await read(world.token, { after: pageInfo.endCursor })).data.auditEvents;
    expect(rest).toMatchObject({ nodes: [{ operation: 'updateList' }], pageInfo: { hasNextPage: false } });
  });

  test("only an administrator reads others', and everybody's", async () => {
    const [one, other] = [await newWorld(app, smtp), await newWorld(app, smtp)];
    await patch(`/lists/${one.listUid}`, one.token, { name: 'Mine' });
    for (const variables of [{ customerUid: one.customerUid }, { everybody: true }])
      expect((await read(other.token, variables)).data.auditEvents.code).toBe('FORBIDDEN');
    expect((await read(other.token)).data.auditEvents.nodes).toEqual([]);
    const seen = (await read(app.adminToken, { customerUid: one.customerUid })).data.auditEvents.nodes;
    expect(seen).toMatchObject([{ operation: 'updateList', userEmail: one.email }]);
    const all = (await read(app.adminToken, { everybody: true })).data.auditEvents.nodes;
    expect(all[0]).toMatchObject({ operation: 'updateList', customerUid: one.customerUid });
    for (const after of ['x', '-1', '9'.repeat(30)])
      expect((await read(one.token, { after })).data.auditEvents.fields).toEqual([{ field: 'after' }]);
  });
});
