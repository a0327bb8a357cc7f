/** The frame of the REST facade on a web server, with rows that echo what they were given; no database behind it. */
import { parse } from 'graphql';
import { startHttpServer } from '../../src/http/http-server.ts';
import { silentLog } from '../../src/lib/log.ts';
import { created, ok, page, stream } from '../../src/rest-facade/answer.ts';
import type { Execution } from '../../src/rest-facade/call.ts';
import { pageArguments } from '../../src/rest-facade/dialects.ts';
import { z } from 'zod';
import { customEndpoint } from '../../src/rest-facade/endpoint.ts';
import { createRestHandler } from '../../src/rest-facade/rest-handler.ts';
import type { Row } from '../../src/rest-facade/row.ts';
import { answersBody } from '../../src/rest-facade/shapes.ts';
import { afterFile } from './after-file.ts';

export const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/** What these rows say of themselves is not looked at. */
const echoEndpoint = (row: Omit<Row, 'summary' | 'answers'>): Row =>
  customEndpoint({ summary: 'Echoes.', answers: answersBody(z.unknown()), ...row });

const rows: readonly Row[] = [
  echoEndpoint({
    method: METHODS,
    path: '/echo',
    access: 'public',
    operations: [],
    run: ({ input }) => ok(Object.fromEntries(input.others().map((name) => [name, input.raw(name)]))),
  }),
  echoEndpoint({
    method: 'GET',
    path: '/person/:email',
    access: 'public',
    operations: [],
    run: ({ input }) => ok({ email: input.param('email') }),
  }),
  echoEndpoint({
    method: 'POST',
    path: '/things',
    access: 'token',
    operations: [],
    run: identified(() => created('Made', { thing_uid: 'a' })),
  }),
  echoEndpoint({
    method: 'GET',
    path: '/things',
    access: 'token',
    operations: [],
    run: identified(({ input }) => {
      const { page: number, perPage } = pageArguments(input);
      return page({ nodes: number === 1 ? [{ uid: 'a' }] : [], total: 60, page: number, perPage }, (node) => node);
    }),
  }),
  echoEndpoint({
    method: 'POST',
    path: '/typed',
    access: 'token',
    operations: [],
    run({ input }) {
      const values = {
        count: input.integer('count'),
        on: input.flag('on'),
        name: input.text('name'),
        at: input.time('at'),
      };
      input.check();
      return ok(values);
    },
  }),
  echoEndpoint({ method: 'GET', path: '/admin', access: 'admin', operations: [], run: identified(() => ok({})) }),
  echoEndpoint({
    method: 'GET',
    path: '/defect',
    access: 'public',
    operations: [],
    run: () => {
      throw new Error('SELECT secret FROM users');
    },
  }),
  echoEndpoint({
    method: 'GET',
    path: '/download',
    access: 'public',
    operations: [],
    run: () => stream({ contentType: 'text/csv; charset=utf-8', fileName: 'a "b".csv', pieces: pieces() }),
  }),
  echoEndpoint({
    method: 'POST',
    path: '/files',
    access: 'token',
    takesFile: true,
    operations: [],
    async run({ input, upload }) {
      let bytes = 0;
      for await (const chunk of upload?.file.content ?? []) bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
      const complete = (await upload?.completeInput()) ?? input;
      return ok({ name: upload?.file.name, bytes, before: input.text('before'), after: complete.text('after') });
    },
  }),
];

function identified(run: Row['run']): Row['run'] {
  return async (call) => {
    await call.identify();
    return run(call);
  };
}

async function* pieces() {
  yield 'time,email\r\n';
  yield '1,a@example.com\r\n';
}

const viewers: Readonly<Record<string, Execution['viewer']>> = {
  plain: { customerId: 1n, isAdmin: false, restDialect: null },
  classic: { customerId: 1n, isAdmin: false, restDialect: 'classic' },
};

export type Init = NonNullable<Parameters<typeof fetch>[1]>;

export interface EchoAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface EchoRest {
  /** With `/api/v1`. */
  readonly base: string;
  readonly port: number;
  call(path: string, init?: Init): Promise<EchoAnswer>;
}

const IDENTIFY = { document: parse('query Identify { __typename }'), isMutation: false, variableTypes: new Map() };

/** Starts it; it ends after the file's last test. */
export async function startEchoRest(): Promise<EchoRest> {
  const handler = createRestHandler({
    rows,
    documents: new Map([['Identify', IDENTIFY]]),
    execute: async (_document, _variables, { token }) => ({ data: {}, viewer: viewers[token ?? ''] ?? null }),
    dialect: 'standard',
    prefix: '/api/v1',
    product: { name: 'Mailwright', version: '0', baseUrl: 'http://mail.example' },
  });
  const mounts = [{ prefix: '/api/v1', handle: handler }];
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, log: silentLog, mounts });
  afterFile(() => server.close());
  const base = `http://127.0.0.1:${server.port}/api/v1`;
  return {
    base,
    port: server.port,
    async call(path, init = {}) {
      const response = await fetch(base + path, init);
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
    },
  };
}

export const bearer = (token: string, more: Record<string, string> = {}): Init => ({
  headers: { Authorization: `Bearer ${token}`, ...more },
});

export const labelled =
  (type: string) =>
  (method: string, body: string): Init => ({
    method,
    body,
    headers: { 'Content-Type': type },
  });
export const json = labelled('application/json');
export const form = labelled('application/x-www-form-urlencoded');
