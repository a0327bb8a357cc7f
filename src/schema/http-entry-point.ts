/**
 * GraphQL over HTTP and server-sent events, and the explorer for browsers. Only JSON bodies, only from our own pages, pages of
 * `CORS_ORIGINS` or from no page, a session's cookie only from our own pages.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga';
import { answerMade, answerMemoryOf } from '../lib/large-answers.ts';
import { LargeBodyRight } from '../lib/large-bodies.ts';
import { rateLimitHeaders, RATE_LIMITED_CODE, RATE_LIMITED_MESSAGE, type CountRequest } from '../lib/rate-limit.ts';
import { sessionOf } from '../domain/accounts/session-cookie.ts';
import { isOwnOrigin } from './check-origin.ts';
import { graphqlContext, type GraphqlContext } from './context.ts';
import { sendGraphqlPage, wantsPage } from './explorer-page.ts';
import { CONNECTIONS_PER_USER_MAX } from './limits.ts';
import type { LiveConnections } from './live-connections.ts';
import type { LiveSchema, SchemaInUse } from './live-schema.ts';
import { maskError } from './mask-error.ts';
import { readOperation, type BodyRefusal } from './request-body.ts';
import { bearerToken, makeContext, type Means } from './request-context.ts';
import { checkOperation, subscribeFresh, type OperationPolicy } from './run-operation.ts';

/** What both entry points, HTTP and websocket, need. */
export interface EntryPointOptions {
  readonly live: LiveSchema;
  readonly means: Means;
  readonly policy: OperationPolicy;
  readonly connections: LiveConnections;
  /** Other origins whose pages may ask over HTTP, with a token (decision D59). */
  readonly origins: readonly string[];
  /** Absent: there is no limit on requests. */
  readonly countRequest?: CountRequest | undefined;
}

/** What the web server knows about a request. */
export interface Caller {
  /** The client's address, also behind a trusted proxy. */
  readonly ipAddress: string;
}

export interface HttpEntryPoint {
  handle(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<void>;
  close(): Promise<void>;
}

interface Request extends Caller {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

interface NodeContext extends Request {
  /** The request begins and ends with this schema. */
  readonly inUse: SchemaInUse;
  /** The parsed body of a POST. */
  readonly params?: GraphQLParams;
}

/** The handler of `/graphql` for everything that is no websocket. */
export function createHttpEntryPoint(options: EntryPointOptions): HttpEntryPoint {
  const { live, means, policy } = options;
  const yoga = createYoga<NodeContext, GraphqlContext>({
    schema: ({ inUse }) => inUse.schema,
    context: (request) => contextOf(request, means),
    plugins: [guard(options)],
    maskedErrors: { maskError: (error) => maskError(error, means.log) },
    // Read before Yoga gets the request.
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
    multipart: false,
    batching: false,
  });
  return {
    async handle(req, res, { ipAddress }) {
      // Answers are personal; the pages for browsers set another rule.
      res.setHeader('Cache-Control', 'no-store');
      if (req.method === 'OPTIONS') return void res.writeHead(204, { allow: `${METHODS}, OPTIONS` }).end();
      const refusal = refusalOf(req, means.installation.baseUrl, options.origins);
      if (refusal) return refuse(res, refusal);
      if (policy.introspectionForAll && wantsPage(req)) return sendGraphqlPage(req, res);
      if (!(await passes(options, { req, res, ipAddress }))) return;
      const inUse = live.current;
      if (req.method !== 'POST') return void (await yoga(req, res, { req, res, ipAddress, inUse }));
      const large = new LargeBodyRight(ipAddress);
      const isKnown = async () => {
        const { viewer } = await contextOf({ req, res, ipAddress }, means);
        if (viewer) large.ofCustomer(viewer.customerId);
        return viewer !== null;
      };
      const body = await readOperation(req, { isKnown, large }).finally(() => large.giveBack());
      if ('refusal' in body) return refuse(res, body.refusal);
      await yoga(req, res, { req, res, ipAddress, inUse, params: body.params });
    },
    close: async () => void (await yoga.dispose()),
  };
}

/** Counts the request, adds the rest of the limit to the answer, and refuses it if nothing is left. */
async function passes({ countRequest, means }: EntryPointOptions, { req, res, ipAddress }: Request): Promise<boolean> {
  const { authorization } = req.headers;
  const credential = bearerToken(authorization) ?? sessionOf(req.headers, means.installation.baseUrl) ?? null;
  const verdict = await countRequest?.({ credential, ipAddress });
  if (!verdict) return true;
  for (const [name, value] of Object.entries(rateLimitHeaders(verdict))) res.setHeader(name, value);
  if (verdict.isAllowed) return true;
  const extensions = { code: RATE_LIMITED_CODE, retryAfterSeconds: verdict.resetSeconds };
  res.writeHead(429, { 'content-type': 'application/json; charset=utf-8' });
  res.end(JSON.stringify({ errors: [{ message: RATE_LIMITED_MESSAGE, extensions }] }));
  return false;
}

function contextOf({ req, res, ipAddress }: Request, means: Means): Promise<GraphqlContext> {
  const token = bearerToken(req.headers.authorization);
  const session = sessionOf(req.headers, means.installation.baseUrl);
  const setCookie = (cookie: string) => void res.appendHeader('Set-Cookie', cookie);
  return makeContext(means, {
    ...{ token, session, ipAddress, userAgent: req.headers['user-agent'], entryPoint: 'graphql', setCookie },
    answer: answerMemoryOf(res),
  });
}

function guard({ policy, connections }: EntryPointOptions): Plugin<NodeContext, NodeContext> {
  return {
    onRequestParse({ serverContext: { params }, setRequestParser }) {
      if (params) setRequestParser(() => params);
    },
    onResponse({ response: { headers }, serverContext: { res } }) {
      // What Yoga does from here on does not end when the client goes away.
      answerMade(res);
      // A proxy must not buffer events; nginx does so by default.
      if (headers.get('content-type')?.startsWith('text/event-stream')) headers.set('X-Accel-Buffering', 'no');
      headers.set('Cache-Control', 'no-store');
    },
    onParse: ({ params, context, setParseFn }) => setParseFn(() => context.inUse.documents.parse(params.source)),
    onValidate: ({ params, context, setValidationFn }) => {
      setValidationFn(() => context.inUse.documents.validate(params.documentAST));
    },
    onExecute: ({ args }) => checkOperation(args, policy),
    onSubscribe: ({ args, context, setSubscribeFn }) => {
      checkOperation(args, policy);
      const { viewer } = graphqlContext(context);
      if (viewer && !connections.hasPlaceFor(viewer.userId)) throw tooManyConnections();
      setSubscribeFn(async (given) => {
        const stream = await subscribeFresh(given);
        // A subscription that is refused takes nobody's place.
        if (!(Symbol.asyncIterator in stream) || watchStream(context, connections)) return stream;
        await stream.return();
        return { errors: [tooManyConnections()] };
      });
    },
  };
}

/**
 * An event stream ends with its token; without a token it ends at once, because all subscriptions need one. False: the user has
 * too many connections.
 */
function watchStream(context: NodeContext, connections: LiveConnections): boolean {
  const { viewer } = graphqlContext(context);
  const { res } = context;
  // Whoever left before the token was looked up would never be taken off again.
  if (!viewer || res.closed) return true;
  if (!connections.makePlaceFor(viewer.userId)) return false;
  res.once('close', connections.add({ viewer, end: () => void res.destroy() }));
  return true;
}

function tooManyConnections(): GraphQLError {
  return new GraphQLError(`At most ${CONNECTIONS_PER_USER_MAX} live connections of a user are open at once.`, {
    extensions: { code: 'TOO_MANY_CONNECTIONS', http: { status: 429 } },
  });
}

interface Refusal {
  readonly status: 403 | 405 | 415;
  readonly message: string;
}

const JSON_TYPE = /^application\/(json|graphql\+json)\s*(;|$)/i;

const METHODS = 'GET, POST';

function refusalOf(req: IncomingMessage, baseUrl: string, origins: readonly string[]): Refusal | undefined {
  if (req.method !== 'GET' && req.method !== 'POST') return { status: 405, message: 'GraphQL takes GET and POST.' };
  if (!isOwnOrigin(req, baseUrl) && !origins.includes(req.headers.origin ?? ''))
    return { status: 403, message: 'Requests from other sites are refused.' };
  if (req.method === 'POST' && !JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    return { status: 415, message: 'GraphQL takes `content-type: application/json`.' };
  }
  if ((req.headers['content-encoding'] ?? 'identity') !== 'identity') {
    return { status: 415, message: 'Send the body without Content-Encoding.' };
  }
  return undefined;
}

function refuse(res: ServerResponse, { status, message, ...refusal }: Refusal | BodyRefusal): void {
  const extensions = { code: 'REQUEST_REFUSED', ...('extensions' in refusal ? refusal.extensions : {}) };
  res.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    ...(status === 405 ? { allow: METHODS } : {}),
    ...('headers' in refusal ? refusal.headers : {}),
  });
  res.end(JSON.stringify({ errors: [{ message, extensions }] }));
}
