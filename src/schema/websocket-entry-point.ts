/**
 * GraphQL over websockets (the graphql-transport-ws protocol). A socket belongs to a token, given once with `connection_init`;
 * everything about it is limited, and it ends with its token.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { execute, GraphQLError, type DocumentNode, type ExecutionArgs } from 'graphql';
import { handleProtocols, makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws';
import { WebSocketServer, type WebSocket } from 'ws';
import { messageOf } from '../lib/errors.ts';
import { AnswerMemory } from '../lib/large-answers.ts';
import { RATE_LIMITED_CODE, RATE_LIMITED_MESSAGE } from '../lib/rate-limit.ts';
import { sessionOf } from '../domain/accounts/session-cookie.ts';
import { isOwnOrigin } from './check-origin.ts';
import { freshContext, type GraphqlContext } from './context.ts';
import type { Documents } from './documents.ts';
import type { EntryPointOptions } from './http-entry-point.ts';
import {
  CONNECTIONS_PER_USER_MAX,
  OPERATIONS_PER_SOCKET_MAX,
  SOCKET_INIT_MS_MAX,
  SOCKET_MESSAGE_BYTES_MAX,
  SOCKETS_MAX,
} from './limits.ts';
import type { EndReason } from './live-connections.ts';
import { maskError } from './mask-error.ts';
import { bearerToken, makeContext } from './request-context.ts';
import { checkOperation, subscribeFresh } from './run-operation.ts';
import {
  GOING_AWAY_CODE,
  MAINTENANCE_CODE,
  REPLACED_CODE,
  SLOW_READER_CODE,
  SocketTransport,
  TOKEN_ENDED_CODE,
  TOO_MANY_SOCKETS_CODE,
} from './websocket-transport.ts';

export interface WebsocketEntryPoint {
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, ipAddress: string): void;
  close(): Promise<void>;
}

/** What is known about a socket; the context exists once `connection_init` was accepted. */
interface Extra {
  readonly req: IncomingMessage;
  readonly ipAddress: string;
  readonly transport: SocketTransport;
  readonly socket: WebSocket;
  /** The answers under way. The key is the object that `graphql-ws` read; a client may use an id again. */
  readonly answers: Map<SubscribePayload, AnswerMemory>;
  context?: GraphqlContext;
}

type Connection = Context<Record<string, unknown>, Extra>;

const BROKEN_CODE = 4500;
const GOODBYES: Readonly<Record<EndReason, readonly [code: number, reason: string]>> = {
  replaced: [REPLACED_CODE, 'A newer connection of the user took its place'],
  'token-ended': [TOKEN_ENDED_CODE, 'Token ended'],
  maintenance: [MAINTENANCE_CODE, 'Maintenance began or ended'],
  shutdown: [GOING_AWAY_CODE, 'Going away'],
};

/** The handler of websocket upgrades on `/graphql`. */
export function createWebsocketEntryPoint(options: EntryPointOptions): WebsocketEntryPoint {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: SOCKET_MESSAGE_BYTES_MAX,
    handleProtocols: (protocols) => handleProtocols(protocols),
    perMessageDeflate: false,
  });
  const server = protocolOf(options);
  return {
    upgrade(req, socket, head, ipAddress) {
      if (!isOwnOrigin(req, options.means.installation.baseUrl)) return refuse(socket, '403 Forbidden');
      if (sockets.clients.size >= SOCKETS_MAX) return refuse(socket, '503 Service Unavailable');
      sockets.handleUpgrade(req, socket, head, (opened) => serve(server, { opened, req, ipAddress, options }));
    },
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await new Promise<void>((resolve) => sockets.close(() => resolve()));
    },
  };
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

interface OpenedSocket {
  readonly opened: WebSocket;
  readonly req: IncomingMessage;
  readonly ipAddress: string;
  readonly options: EntryPointOptions;
}

function serve(server: Server<Extra>, { opened, req, ipAddress, options }: OpenedSocket): void {
  const transport = new SocketTransport(opened);
  const extra: Extra = { req, ipAddress, transport, socket: opened, answers: new Map() };
  const closed = server.opened(
    {
      protocol: opened.protocol,
      send: (data) => transport.send(data),
      close: (code = GOING_AWAY_CODE, reason = '') => transport.close(code, reason),
      onMessage: (take) => {
        opened.on('message', (data) => {
          // Fragments are joined already: with these options of `ws`, a message is one Buffer.
          take(Buffer.isBuffer(data) ? data.toString() : '').catch((error: unknown) => {
            options.means.log.error('graphql.socket_failed', { error });
            transport.close(BROKEN_CODE, 'Internal server error');
          });
        });
      },
    },
    extra,
  );
  opened.once('close', (code, reason) => {
    for (const answer of extra.answers.values()) answer.left();
    closed(code, String(reason)).catch((error: unknown) =>
      options.means.log.warn('graphql.socket_close_failed', { message: messageOf(error) }),
    );
  });
}

function protocolOf(options: EntryPointOptions): Server<Extra> {
  const { log } = options.means;
  return makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: SOCKET_INIT_MS_MAX,
    onConnect: (connection) => admit(connection, options),
    onSubscribe: (connection, _id, payload) => prepare(connection, payload, options),
    execute: (args) => execute(args),
    subscribe: subscribeFresh,
    onNext: (_connection, _id, _payload, _args, { data, errors }) =>
      errors && { data: data ?? null, errors: errors.map((error) => maskError(error, log).toJSON()) },
    // The client has taken the answer.
    onComplete: ({ extra: { answers } }, _id, payload) => {
      answers.get(payload)?.made();
      answers.get(payload)?.left();
      answers.delete(payload);
    },
    onError: (_connection, _id, _payload, errors) => errors.map((error) => maskError(error, log).toJSON()),
  });
}

/** A socket without a valid token is refused: there are no public subscriptions. */
async function admit(connection: Connection, { means, connections }: EntryPointOptions): Promise<boolean> {
  const { connectionParams, extra } = connection;
  const { req, ipAddress, transport, socket } = extra;
  const token = tokenOf(connectionParams) ?? bearerToken(req.headers.authorization);
  const session = sessionOf(req.headers, means.installation.baseUrl);
  const context = await makeContext(means, {
    ...{ token, session, ipAddress, userAgent: req.headers['user-agent'], entryPoint: 'graphql' },
  });
  if (!context.viewer) {
    // The protocol's own 4403 would make clients come again and again.
    transport.close(TOKEN_ENDED_CODE, 'There is no valid token');
    return false;
  }
  // It has gone while its token was looked up: nobody's place is taken for it.
  if (socket.readyState !== socket.OPEN) return false;
  const { userId } = context.viewer;
  if (!connections.makePlaceFor(userId)) {
    transport.close(TOO_MANY_SOCKETS_CODE, `At most ${CONNECTIONS_PER_USER_MAX} connections per user`);
    return false;
  }
  extra.context = context;
  const end = (reason: EndReason) => transport.close(...GOODBYES[reason]);
  const isIdle = () => Object.keys(connection.subscriptions).length === 0;
  const remove = connections.add({ viewer: context.viewer, isIdle, end });
  socket.once('close', remove);
  return true;
}

/** `{ authorization: "Bearer …" }`, in any spelling of the key, or `{ apiToken: "…" }`. */
function tokenOf(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const given = Object.entries(params ?? {}).find(([key]) =>
    ['authorization', 'apitoken'].includes(key.toLowerCase()),
  )?.[1];
  return typeof given === 'string' ? (bearerToken(given) ?? given) : undefined;
}

async function prepare(
  connection: Connection,
  payload: SubscribePayload,
  options: EntryPointOptions,
): Promise<ExecutionArgs | readonly GraphQLError[]> {
  const { live, policy, means } = options;
  const { context, answers, transport, socket } = connection.extra;
  if (!context)
    return [new GraphQLError('The connection was not initialised.', { extensions: { code: 'UNAUTHENTICATED' } })];
  if (Object.keys(connection.subscriptions).length > OPERATIONS_PER_SOCKET_MAX) {
    return [
      new GraphQLError(`At most ${OPERATIONS_PER_SOCKET_MAX} operations run on one connection.`, {
        extensions: { code: 'TOO_MANY_OPERATIONS' },
      }),
    ];
  }
  const refusal = await overLimit(context, options);
  if (refusal) return [refusal];
  try {
    const { schema, documents } = live.current;
    const document = parse(documents, payload.query);
    const faults = documents.validate(document);
    if (faults.length > 0) return faults.map((fault) => coded(fault, 'GRAPHQL_VALIDATION_FAILED'));
    const answer = new AnswerMemory(() => transport.close(SLOW_READER_CODE, 'Reader too slow'));
    const args = {
      schema,
      document,
      contextValue: { ...freshContext(context), answer },
      operationName: payload.operationName ?? null,
      variableValues: payload.variables ?? null,
    };
    checkOperation(args, policy);
    answers.set(payload, answer);
    if (socket.readyState !== socket.OPEN) answer.left();
    return args;
  } catch (error) {
    return [maskError(error, means.log)];
  }
}

/** An operation on a socket counts like a request. */
async function overLimit(
  context: GraphqlContext,
  { countRequest }: EntryPointOptions,
): Promise<GraphQLError | undefined> {
  const { viewer, ipAddress } = context;
  if (!countRequest || !viewer) return undefined;
  const verdict = await countRequest({ credential: null, tokenId: viewer.tokenId, ipAddress: ipAddress ?? '' });
  if (!verdict || verdict.isAllowed) return undefined;
  const extensions = { code: RATE_LIMITED_CODE, retryAfterSeconds: verdict.resetSeconds };
  return new GraphQLError(RATE_LIMITED_MESSAGE, { extensions });
}

function parse(documents: Documents, query: string): DocumentNode {
  try {
    return documents.parse(query);
  } catch (error) {
    throw error instanceof GraphQLError ? coded(error, 'GRAPHQL_PARSE_FAILED') : error;
  }
}

/** Faults of documents have the same codes as over HTTP with Yoga; limits have codes of their own. */
function coded(error: GraphQLError, code: string): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { code, ...extensions } });
}
