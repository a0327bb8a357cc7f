/** Sending servers that run a program of this machine: who may have them, with which programs, and the same after the rules have changed. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createDriverPool } from '../../src/domain/sending/driver-pool.ts';
import { newUid } from '../../src/lib/ids.ts';
import { givePlan } from '../support/plans.ts';
import { startRestApp } from '../support/rest-app.ts';
import { errorsOf, serverCalls, uidOf } from '../support/server-calls.ts';
import { makeSendmail } from '../support/sendmail-program.ts';

const program = makeSendmail();
const other = makeSendmail();
afterAll(() => [program, other].forEach((one) => one[Symbol.dispose]()));
const app = await startRestApp({ SENDING_PROGRAMS: `/usr/lib/nowhere/sendmail, ${program.path}` });
const { create, patch, stored } = serverCalls(app);

const server = (settings: object = { path: program.path }, type = 'sendmail') => ({ name: 'Local', type, settings });
const countServers = () => queryRows(app.ctx.db, sql`SELECT count(*)::int AS count FROM sending_server`);

async function graphql(query: string, variables: object = {}, token = app.adminToken): Promise<unknown> {
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  return answer.json();
}

const ONLY_ADMINISTRATORS = {
  status: 422,
  errors: { type: [expect.stringContaining('only an administrator may have them')] },
};

describe('an administrator', () => {
  test.each(['sendmail', 'php-mail'])('creates a server of type %s, tests it and mails through it', async (type) => {
    const made = await create({ ...server(undefined, type), default_from_email: 'post@house.example' });
    expect(made).toMatchObject({
      status: 201,
      body: { sending_server: { type, is_system: true, fault: null, settings: { path: program.path } } },
    });
    const before = readdirSync(path.join(program.folder, 'taken')).length;
    const tried = await app.rest(`/sending_servers/${uidOf(made)}/test`, {
      method: 'POST',
      body: { to: 'me@there.example' },
    });
    expect(tried.body).toMatchObject({
      test: { accepted: true, reply: `${program.path} has taken it.`, advice: null },
    });
    const names = readdirSync(path.join(program.folder, 'taken'));
    expect(names.slice(-1)).toEqual([expect.stringContaining('me@there.example')]);
    expect(names).toHaveLength(before + 1);
  });

  test('takes only programs of the list, as they are written there', async () => {
    const before = await countServers();
    const wrong = [
      ['/bin/sh', 'is not in SENDING_PROGRAMS'],
      [other.path, 'is not in SENDING_PROGRAMS'],
      [`${path.dirname(program.path)}/./sendmail`, 'is not in SENDING_PROGRAMS'],
      [`${program.path} `, 'is not in SENDING_PROGRAMS'],
      ['', 'is not in SENDING_PROGRAMS'],
      ['sendmail', 'must be the absolute path'],
    ] as const;
    for (const [given, words] of wrong)
      expect(errorsOf(await create(server({ path: given }))), given).toEqual({
        status: 422,
        errors: { 'settings.path': [expect.stringContaining(words)] },
      });
    expect((await create(server({ path: '/bin/sh' }))).text).toContain(program.path);
    expect(await countServers()).toEqual(before);
    expect(other.connections().ever).toBe(0);
  });

  test('gets `connection` for a program that is allowed and does not work, and nothing is stored', async () => {
    const before = await countServers();
    expect(errorsOf(await create(server({ path: '/usr/lib/nowhere/sendmail' })))).toEqual({
      status: 422,
      errors: {
        connection: ['/usr/lib/nowhere/sendmail cannot be started: there is no such program on this machine.'],
      },
    });
    expect(await countServers()).toEqual(before);
  });

  test('cannot move a server to another program, by REST or GraphQL', async () => {
    const uid = uidOf(await create(server()));
    const before = await stored(uid);
    const refusal = { 'settings.path': [expect.stringContaining('is not in SENDING_PROGRAMS')] };
    expect(errorsOf(await patch(uid, { settings: { path: '/bin/sh' } }))).toEqual({ status: 422, errors: refusal });
    const mutation = `mutation ($input: UpdateSendingServerInput!) { updateSendingServer(input: $input) {
      __typename ... on ValidationError { fields { field } } } }`;
    expect(await graphql(mutation, { input: { uid, settings: { path: '/bin/sh' } } })).toMatchObject({
      data: { updateSendingServer: { __typename: 'ValidationError', fields: [{ field: 'settings.path' }] } },
    });
    expect(errorsOf(await patch(uid, { type: 'php-mail' }))).toMatchObject({ errors: { type: [expect.any(String)] } });
    expect(await stored(uid)).toEqual(before);
  });
});

describe('a customer', () => {
  test('cannot have one, whatever the plan says, and learns nothing of this machine', async () => {
    const tenant = await app.newTenant();
    for (const type of ['sendmail', 'php-mail']) {
      const answer = await create(server(undefined, type), { token: tenant.token });
      expect(errorsOf(answer)).toEqual(ONLY_ADMINISTRATORS);
      expect(answer.text).not.toContain(program.folder);
      expect(errorsOf(await create(server({ path: '/bin/sh' }, type), { token: tenant.token }))).toEqual(
        ONLY_ADMINISTRATORS,
      );
    }
    await givePlan(app.ctx.db, tenant.customerId, {
      ...{ sending_server_option: 'own', all_sending_server_types: 'no' },
      sending_server_types: { sendmail: 'yes', 'php-mail': 'yes' },
    });
    expect(errorsOf(await create(server(), { token: tenant.token }))).toEqual(ONLY_ADMINISTRATORS);
    expect(
      await queryRows(app.ctx.db, sql`SELECT 1 FROM sending_server WHERE customer_id = ${tenant.customerId}`),
    ).toEqual([]);
  });

  test('has a row of that type, however it came there: nothing starts the program', async () => {
    const { token, customerId } = await app.newTenant();
    const uid = newUid();
    await app.ctx.db.execute(
      sql`INSERT INTO sending_server (customer_id, uid, name, type, settings, default_from_email)
          VALUES (${customerId}, ${uid}, 'Own', 'sendmail', ${JSON.stringify({ path: program.path })}::jsonb, 'a@b.example')`,
    );
    const before = program.connections().ever;
    expect((await app.rest(`/sending_servers/${uid}`, { token })).body).toMatchObject({
      sending_server: { fault: expect.stringContaining("a customer's server may not") },
    });
    expect(errorsOf(await patch(uid, { settings: { connections: 2 } }, token))).toEqual(ONLY_ADMINISTRATORS);
    const tried = await app.rest(`/sending_servers/${uid}/test`, { method: 'POST', body: {}, token });
    expect(errorsOf(tried)).toEqual(ONLY_ADMINISTRATORS);
    const pool = createDriverPool(app.hooks);
    expect(await pool.channelFor(app.ctx, customerId)).toBeUndefined();
    await pool.close();
    expect(app.logged.join()).toContain('may not');
    expect(program.connections().ever).toBe(before);
  });

  test('sees which types are for administrators only', async () => {
    const { token } = await app.newTenant();
    const query = '{ it: sendingServerTypes { ... on SendingServerTypesSuccess { nodes { type isSystemOnly } } } }';
    expect(await graphql(query, {}, token)).toMatchObject({
      data: {
        it: {
          nodes: expect.arrayContaining([
            { type: 'smtp', isSystemOnly: false },
            { type: 'sendmail', isSystemOnly: true },
            { type: 'php-mail', isSystemOnly: true },
          ]),
        },
      },
    });
  });
});

test('a program that the operator has taken off the list is started no more', async () => {
  const uid = uidOf(await create(server()));
  const strict = { ...app.ctx, installation: { ...app.ctx.installation, sendingPrograms: [] } };
  await app.ctx.db.execute(sql`UPDATE sending_server SET status = 'inactive' WHERE uid <> ${uid}`);
  const { customerId } = await app.newTenant();
  const pool = createDriverPool(app.hooks);
  expect(await pool.channelFor(strict, customerId)).toBeUndefined();
  expect(app.logged.join()).toContain('SENDING_PROGRAMS');
  expect(await pool.channelFor(app.ctx, customerId)).toMatchObject({ serverUid: uid });
  await pool.close();
});
