/**
 * Every error in GraphQL's `errors` has a code of the list in the manual, and the path of its field where it comes from one: over HTTP,
 * as an event stream, and on a websocket.
 */
import { readFileSync } from 'node:fs';
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { sql } from '../../src/db/database.ts';
import { startGraphqlApp } from '../support/graphql-app.ts';

const app = await startGraphqlApp();
const closed = await startGraphqlApp({ explorer: false });
const tenant = await app.newCustomer();
const [list] = await app.ctx.db.query(
  { uid: 'text' },
  sql`INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
      VALUES (${tenant.customerId}, 'e000000000001', 'Friends', '', 'a@b.example', 'S') RETURNING uid`,
);
const uid = list?.uid;

interface Fault {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

interface Case {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly operationName?: string;
  readonly code: string;
  readonly path?: readonly string[] | undefined;
}

const PEOPLE =
  'query ($uid: String!, $after: String) { list(uid: $uid) { ... on MailList { subscribers(after: $after) { nodes { uid } } } } }';
const LISTS = 'query ($first: Int!) { lists(first: $first) { __typename } }';
const TIME = 'mutation ($at: DateTime) { createApiToken(input: { name: "a", expiresAt: $at }) { __typename } }';
const FIGURES = 'subscription { campaignStatistics(uid: "ffffffffffff0") { sentCount } }';

/** Of operations, however they come. */
const CASES: Readonly<Record<string, Case>> = {
  'a text that is no document': { query: '{ me {', code: 'GRAPHQL_PARSE_FAILED' },
  'a field that does not exist': { query: '{ you }', code: 'GRAPHQL_VALIDATION_FAILED' },
  'a literal of another type': { query: '{ lists(first: "x") { __typename } }', code: 'GRAPHQL_VALIDATION_FAILED' },
  'too many rows': { query: '{ lists(first: 1000) { __typename } }', code: 'DOCUMENT_TOO_EXPENSIVE' },
  'too many rows by a variable': { query: LISTS, variables: { first: 1000 }, code: 'DOCUMENT_TOO_EXPENSIVE' },
  'too many levels': { query: `{ ${'a { '.repeat(20)}b${' }'.repeat(20)} }`, code: 'DOCUMENT_TOO_EXPENSIVE' },
  'a variable of another type': { query: LISTS, variables: { first: 'x' }, code: 'BAD_REQUEST' },
  'a variable that is missing': { query: LISTS, code: 'BAD_REQUEST' },
  'a variable that a scalar refuses': { query: TIME, variables: { at: 'soon' }, code: 'BAD_REQUEST' },
  'an operation that is not in the document': {
    ...{
      query: 'query A { __typename } query B { __typename }',
      operationName: 'C',
      code: 'OPERATION_RESOLUTION_FAILURE',
    },
  },
  'several operations and no name': {
    ...{ query: 'query A { __typename } query B { __typename }', code: 'OPERATION_RESOLUTION_FAILURE' },
  },
  'a cursor below the root': {
    ...{ query: PEOPLE, variables: { uid, after: 'x' }, code: 'INVALID_INPUT', path: ['list', 'subscribers'] },
  },
  'a fault of ours': {
    ...{ query: '{ auditEvents { __typename } }', code: 'INTERNAL_ERROR', path: ['auditEvents'] },
  },
  'a subscription to what is not there': { query: FIGURES, code: 'CAMPAIGN_NOT_FOUND', path: ['campaignStatistics'] },
};

/** Codes that are the manual's: those of the table, and of the domain (`INVALID_INPUT`, `CAMPAIGN_NOT_FOUND`) by its sentence. */
const manual = readFileSync('docs/manual/graphql.md', 'utf8');
const TABLE = [...manual.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code = '']) => code);

function expectCoded(errors: readonly Fault[], { code, path }: Pick<Case, 'code' | 'path'>): void {
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) {
    expect(error.extensions?.code, error.message).toBe(code);
    expect(error.path, error.message).toEqual(path);
  }
}

async function post(body: string, headers: Record<string, string> = {}, method = 'POST'): Promise<Fault[]> {
  const answer = await fetch(app.url, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tenant.token}`, ...headers },
    ...(method === 'GET' ? {} : { body }),
  });
  const text = await answer.text();
  // The first event of a stream, or the answer.
  const [, event] = /^data: (.*)$/m.exec(text) ?? [];
  return JSON.parse(event ?? text).errors ?? [];
}

beforeAll(() => app.ctx.db.execute(sql`ALTER TABLE hot.audit_event RENAME TO audit_event_away`));
afterAll(() => app.ctx.db.execute(sql`ALTER TABLE hot.audit_event_away RENAME TO audit_event`));

describe.each(Object.entries(CASES))('%s', (_name, { query, variables, operationName, code, path }) => {
  const body = JSON.stringify({ query, variables, operationName });

  test('over HTTP', async () => {
    if (query.startsWith('subscription')) return;
    expectCoded(await post(body), { code, path });
    expectCoded(await post(body, { accept: 'application/graphql-response+json' }), { code, path });
  });

  test('as an event stream', async () => {
    expectCoded(await post(body, { accept: 'text/event-stream' }), { code, path });
  });

  test('on a websocket', async () => {
    const client = createClient({
      url: app.url.replace('http:', 'ws:'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${tenant.token}` },
      retryAttempts: 0,
    });
    const events = client.iterate({ query, variables, operationName });
    const errors: unknown = await events.next().then(
      ({ value }) => value?.errors,
      (thrown: unknown) => thrown,
    );
    expectCoded(errors as Fault[], { code, path });
    await client.dispose();
  });
});

describe('requests that are no operation', () => {
  const query = '{ me { __typename } }';
  test.each([
    ['broken JSON', '{', {}, 'POST', 'BAD_REQUEST'],
    ['a list', '[]', {}, 'POST', 'BAD_REQUEST'],
    ['no query', '{}', {}, 'POST', 'BAD_REQUEST'],
    ['a query that is a number', '{"query":1}', {}, 'POST', 'BAD_REQUEST'],
    ['variables that are a text', JSON.stringify({ query, variables: 'x' }), {}, 'POST', 'BAD_REQUEST'],
    ['a form', 'query=x', { 'content-type': 'application/x-www-form-urlencoded' }, 'POST', 'REQUEST_REFUSED'],
    ['another method', '{}', {}, 'PUT', 'REQUEST_REFUSED'],
    ['a compressed body', '{}', { 'content-encoding': 'gzip' }, 'POST', 'REQUEST_REFUSED'],
    ['a body of 15 MB', JSON.stringify({ query, pad: 'x'.repeat(15e6) }), {}, 'POST', 'REQUEST_ENTITY_TOO_LARGE'],
  ])('%s', async (_name, body, headers, method, code) => {
    expectCoded(await post(body, headers, method), { code, path: undefined });
  });

  test.each([
    ['a mutation by GET', '?query=mutation%20%7BlogOut%7B__typename%7D%7D'],
    ['nothing by GET', '?variables=%7B%7D'],
  ])('%s', async (_name, search) => {
    const answer = await fetch(`${app.url}${search}`, { headers: { accept: 'application/json' } });
    expectCoded((await answer.json()).errors, { code: 'BAD_REQUEST', path: undefined });
  });
});

test('a stranger gets the code of a missing token where there is no union, and the path of its field', async () => {
  const body = JSON.stringify({ query: FIGURES });
  const errors = await post(body, { authorization: '', accept: 'text/event-stream' });
  expectCoded(errors, { code: 'UNAUTHENTICATED', path: ['campaignStatistics'] });
});

test('reading the schema without a token, where that is closed, has a code', async () => {
  const { errors } = await closed.run('{ __schema { queryType { name } } }', {}, null);
  expectCoded(errors, { code: 'INTROSPECTION_REFUSED', path: undefined });
});

test('a field that the token may not read names itself', async () => {
  const reader = await app.newCustomer(['lists:read']);
  await app.ctx.db.execute(sql`
    INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
    VALUES (${reader.customerId}, 'e000000000002', 'Friends', '', 'a@b.example', 'S')`);
  const refused = await app.run(PEOPLE, { uid: 'e000000000002' }, reader.token);
  expectCoded(refused.errors, { code: 'FORBIDDEN', path: ['list', 'subscribers'] });
});

test('the manual lists the codes, each once', () => {
  const provoked = Object.values(CASES).map(({ code }) => code);
  const ofTheDomain = ['INVALID_INPUT', 'CAMPAIGN_NOT_FOUND'];
  expect(TABLE).toEqual([...new Set(TABLE)]);
  expect(TABLE).toEqual(expect.arrayContaining(provoked.filter((code) => !ofTheDomain.includes(code))));
  const elsewhere = [
    'REQUEST_REFUSED',
    'REQUEST_ENTITY_TOO_LARGE',
    'UNAUTHENTICATED',
    'INTROSPECTION_REFUSED',
    'FORBIDDEN',
  ];
  // Tested where they are made: test/rest-facade/rate-limit, test/schema/websockets, time-outs, http-entry-point, test/rest-facade/campaign-content,
  // large-bodies, large-answers.
  const others = [
    'RATE_LIMITED',
    'TOO_MANY_CONNECTIONS',
    'TOO_MANY_OPERATIONS',
    'SERVICE_UNAVAILABLE',
    'TIMED_OUT',
    'TOO_MUCH_CONTENT',
    'TOO_MANY_LARGE_ANSWERS',
    'TOO_MANY_LARGE_BODIES',
    'BODY_TOO_SLOW',
  ];
  expect(TABLE.toSorted()).toEqual(
    [...new Set([...provoked, ...elsewhere, ...others])].filter((code) => !ofTheDomain.includes(code)).toSorted(),
  );
});
