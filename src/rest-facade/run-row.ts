/** One request for one row: caller, parameters, result; run only once if the client demands it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AnswerMemory } from '../lib/large-answers.ts';
import { LargeBodyRight } from '../lib/large-bodies.ts';
import type { Log } from '../lib/log.ts';
import type { TextStream } from './answer.ts';
import type { RequestParameters } from './request-parameters.ts';
import { beginCall, type Credentials, type CallOptions, type Execution } from './call.ts';
import { dialectOf, refuseUnknownDialect, shape } from './dialects.ts';
import { RestError, unauthenticated } from './errors.ts';
import {
  contentOf,
  digesting,
  digestOf,
  idempotencyKeyOf,
  runOnce,
  type IdempotentCalls,
  type KeptAnswer,
} from './idempotency.ts';
import {
  ignoredHeader,
  mayRefuseUnknown,
  refuseUnknown,
  hasIgnoredInBody,
  unknownNames,
  withIgnored,
} from './ignored-parameters.ts';
import type { FilesTaken } from './multipart.ts';
import { readRequest, type ReadRequest } from './read-request.ts';
import type { RequestGate } from './request-gate.ts';
import type { Call, Row } from './row.ts';
import { declarationOf, type Declaration } from './row-parameters.ts';

/** What the web server knows of the request. */
export interface RestExchange {
  readonly requestId: string;
  readonly ipAddress: string;
  readonly log: Log;
  route: string;
}

export interface RowRequest {
  readonly req: IncomingMessage;
  readonly query: string;
  /** Absolute, without the query. */
  readonly url: string;
  readonly exchange: RestExchange;
  readonly gate: RequestGate;
  readonly answer: AnswerMemory;
  readonly row: Row;
  readonly params: Readonly<Record<string, string | undefined>>;
}

/** A row's answer that is written while it is made. */
export interface Download {
  readonly stream: TextStream;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The session of a request from a page of our own; undefined for every other request. Only rows that take files ask: everything
 * else pages do over GraphQL, which takes no forms.
 */
export type SessionOf = (headers: IncomingHttpHeaders) => string | undefined;

interface RowOptions extends CallOptions {
  readonly idempotentCalls?: IdempotentCalls | undefined;
  /** Absent: there are no sessions. */
  readonly sessionOf?: SessionOf | undefined;
}

/** Runs the row. Throws RestError for faults of the caller, any other error for a defect. */
export async function runRow(request: RowRequest, options: RowOptions): Promise<KeptAnswer | Download> {
  const { req, query, exchange, gate, answer, row, params } = request;
  const session = row.takesFile ? options.sessionOf?.(req.headers) : undefined;
  const caller = { ipAddress: exchange.ipAddress, userAgent: req.headers['user-agent'], session, answer };
  const large = row.takesHtml ? new LargeBodyRight(exchange.ipAddress) : undefined;
  const isKnown = async (inBody?: string) => {
    const viewer = await identified({ ...caller, token: tokenOf(req, query, inBody) }, options);
    if (viewer) large?.ofCustomer(viewer.customerId);
    return viewer !== null;
  };
  const reading = { query, files: filesTakenBy(row), isKnown, large };
  const {
    given: everything,
    file,
    completeParameters,
  } = await readRequest(req, reading).finally(() => large?.giveBack());
  const { api_token: givenToken, ...given } = everything;
  const token = tokenOf(req, query, givenToken);
  const credential = token ?? session ?? null;
  await gate.pass(credential);
  if (credential === null && row.access !== 'public') throw unauthenticated();
  const credentials = { ...caller, token };
  const { log, requestId } = exchange;
  const dialect = dialectOf(req.headers['x-api-dialect']);
  const upload = file && uploadOf(file, completeParameters);
  const declared = await declarationOf(row);
  const ignored = new Set<string>();
  const parts = {
    ...{ row, params, given, declared: declared.names, ignored, file: upload?.file, completeParameters },
    ...{ credentials, dialect, log, requestId },
  };
  const call = beginCall(parts, options);
  const answering = { request, given, call, declared, ignored, upload };
  try {
    // A tree in a JSON text may be too large: a 422, which a stranger does not get.
    for (const name of unknownNames(given, declared, params)) ignored.add(name);
    refuseUnknownDialect(req.headers['x-api-dialect']);
    // For an unknown caller a large upload is not read.
    if (row.takesFile || (row.dialectFirst && !dialect)) await call.identify();
    const key = isWrite(row, options) ? idempotencyKeyOf(req.headers['idempotency-key']) : undefined;
    if (key === undefined || req.method !== 'POST' || !options.idempotentCalls) return await answerOf(answering);
    const content = contentOf(['POST', row.path, JSON.stringify(params), dialect ?? ''], given);
    const begun = await options.idempotentCalls.begin({ token, session, ipAddress: exchange.ipAddress, key, content });
    return await runOnce(
      begun,
      async () => ({ ...(await keptAnswerOf(answering)), upload: (await upload?.digest()) ?? null }),
      async () => (await upload?.readAndDigest()) ?? null,
    );
  } catch (error) {
    throw await refusalInOrder(error, answering);
  }
}

interface Answering {
  readonly request: RowRequest;
  readonly given: RequestParameters;
  readonly call: Call;
  readonly declared: Declaration;
  readonly ignored: Set<string>;
  readonly upload: ReturnType<typeof uploadOf> | undefined;
}

async function answerOf(answering: Answering): Promise<KeptAnswer | Download> {
  const { request, call, declared, ignored, upload } = answering;
  const { row, url, query, params } = request;
  if (mayRefuseUnknown(row) && ignored.size > 0) {
    // The dialect may be the token's own.
    await call.identify();
    if (refuseUnknown(call.input, row, { ignored, declared, dialect: call.view().dialect })) ignored.clear();
  }
  const answer = await row.run(call);
  const { dialect } = call.view();
  const given = (await upload?.allParameters()) ?? answering.given;
  const known = { ...declared, names: declared.namesIn[dialect] };
  for (const name of unknownNames(given, known, params)) ignored.add(name);
  if (answer.kind === 'stream') return { stream: answer.stream, headers: ignoredHeader(ignored) };
  const { status, headers, body } = shape(answer, call.view().dialect, { url, query: new URLSearchParams(query) });
  const whole = hasIgnoredInBody(row) ? withIgnored(body, ignored) : body;
  return { status, headers: { ...headers, ...ignoredHeader(ignored) }, body: JSON.stringify(whole), upload: null };
}

/** A refusal is an answer, too: a repeated call would get it again. */
async function keptAnswerOf(answering: Answering): Promise<KeptAnswer> {
  const { row } = answering.request;
  try {
    const answer = await answerOf(answering);
    if ('stream' in answer) throw new Error(`The row ${row.path} writes and answers with a stream.`);
    return answer;
  } catch (error) {
    const refusal = await refusalInOrder(error, answering);
    if (!(refusal instanceof RestError)) throw refusal;
    return { status: refusal.status, headers: refusal.headers, body: JSON.stringify(refusal.body), upload: null };
  }
}

/** The user of a valid token. */
async function identified(credentials: Credentials, { documents, execute }: RowOptions): Promise<Execution['viewer']> {
  const identify = documents.get('Identify');
  if ((credentials.token ?? credentials.session) === undefined || !identify) return null;
  return (await execute(identify.document, {}, credentials)).viewer;
}

/** A row that only reads may be repeated. */
function isWrite(row: Row, { documents }: RowOptions): boolean {
  return row.operations.some((name) => documents.get(name)?.isMutation);
}

/** A stranger learns nothing about a row's parameters: 401 and 403 come before 422, although the input was read first. */
async function refusalInOrder(error: unknown, { request: { row }, call, ignored }: Answering): Promise<unknown> {
  if (!(error instanceof RestError) || error.status !== 422) return error;
  // A misspelt name is often the reason for a missing one.
  const complete = error.withHeaders(ignoredHeader(ignored));
  if (row.access === 'public' || call.identified()) return complete;
  return call.identify().then(
    () => complete,
    (refused: unknown) => refused,
  );
}

type File = NonNullable<ReadRequest['file']>;

function filesTakenBy({ takesFile }: Row): FilesTaken {
  if (takesFile === 'several') return 'several';
  return takesFile ? 'one' : 'none';
}

/** The files for the row, and the digest of them and of the parameters; null when one was not read to its end. */
function uploadOf(first: File, completeParameters: () => Promise<RequestParameters>) {
  const read: { readonly file: File; readonly digest: () => string | null }[] = [];
  const watched = (file: File): File => {
    const { content, digest } = digesting(file.content);
    read.push({ file, digest });
    const next = async () => {
      const following = await file.next();
      return following && watched(following);
    };
    return { ...file, content, next };
  };
  const whole = async () => {
    const parts: string[] = [];
    for (const { file, digest } of read) {
      const ofFile = digest();
      if (ofFile === null) return null;
      parts.push(file.field, file.name, ofFile);
    }
    return digestOf(contentOf(parts, await withoutToken(completeParameters)));
  };
  const file = watched(first);
  return {
    file,
    /** Those after the file included, if it was read. */
    allParameters: async () =>
      read.some(({ digest }) => digest() === null) ? undefined : withoutToken(completeParameters),
    digest: whole,
    readAndDigest: async () => {
      for (let one: File | undefined = file; one; one = await one.next()) for await (const _piece of one.content);
      return whole();
    },
  };
}

async function withoutToken(completeParameters: () => Promise<RequestParameters>): Promise<RequestParameters> {
  const { api_token: _token, ...given } = await completeParameters();
  return given;
}

/** Decision D5: the header, then the query, then the body. */
export function tokenOf(req: IncomingMessage, query: string, givenToken?: RequestParameters[string]): string | null {
  const bearer = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1];
  const token = bearer ?? (new URLSearchParams(query).get('api_token') || givenToken);
  return typeof token === 'string' && token !== '' ? token : null;
}
