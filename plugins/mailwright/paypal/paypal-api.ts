/**
 * PayPal's HTTP interface: JSON, OAuth tokens, a `PayPal-Request-Id` for all attempts at one act; answers are values or PayPalErrors.
 */
import { GatewayError, type PluginServices } from '../../../src/plugin-api/index.ts';
import { accessToken, dropToken, type AccessToken } from './access-tokens.ts';
import { listIn, linkIn, parseJson, textIn, wholeIn, type Json } from './json.ts';
import type { PayPalSettings } from './settings.ts';

const API = { live: 'https://api-m.paypal.com', sandbox: 'https://api-m.sandbox.paypal.com' } as const;
/** Three requests, one of them for a token, are made within the 30 seconds that a gateway has. */
const TIMEOUT_MS = 9_000;
const MESSAGE_LENGTH_MAX = 300;
/** If PayPal does not say how long a token lives. */
const TOKEN_LIFE_MS = 300_000;
/** Another request is doing the same at this moment: it will have an end. */
const IN_PROGRESS = new Set(['ORDER_COMPLETION_IN_PROGRESS', 'PREVIOUS_REQUEST_IN_PROGRESS']);

type Method = 'GET' | 'POST' | 'DELETE';
/** What a request needs beside its path. */
interface Parts {
  readonly body?: object;
  readonly requestId?: string;
}

/** What PayPal answered instead of what was asked for. */
export class PayPalError extends GatewayError {
  readonly status: number;
  /** `INSTRUMENT_DECLINED`. */
  readonly issue: string | undefined;
  /** Where the payer chooses another way to pay, if PayPal says so. */
  readonly redirectTo: string | undefined;

  constructor(
    kind: 'refused' | 'unavailable',
    message: string,
    { status = 0, error = {} }: { status?: number; error?: Json } = {},
  ) {
    super(kind, message);
    this.status = status;
    this.issue = issueOf(error);
    this.redirectTo = linkIn(error, 'redirect', 'payer-action', 'approve');
  }
}

export interface PayPalApi {
  get(path: string, query?: Readonly<Record<string, string | number | boolean>>): Promise<Json>;
  /** `requestId` is the same for all attempts at this act; PayPal keeps it for six hours. */
  post(path: string, body: object, requestId?: string): Promise<Json>;
  delete(path: string): Promise<Json>;
  /** Asks for a new token. Rejects when the credentials are wrong. */
  checkCredentials(): Promise<void>;
}

/** `timeoutMs` of one request; a route has less time than a gateway. */
export function payPalApi(
  services: Pick<PluginServices, 'fetch' | 'log'>,
  settings: PayPalSettings,
  timeoutMs = TIMEOUT_MS,
): PayPalApi {
  const base = API[settings.mode];
  const request = async (url: string, options: { method: Method; headers: Record<string, string>; body?: string }) =>
    services.fetch(url, { ...options, timeoutMs }).catch((error: unknown) => {
      throw new PayPalError(
        'unavailable',
        `PayPal could not be reached: ${error instanceof Error ? error.message : ''}`,
      );
    });
  const askForToken = async (): Promise<AccessToken> => {
    const credentials = Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64');
    const answer = await request(`${base}/v1/oauth2/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${credentials}`, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
    });
    return readToken(answer.status, answer.text());
  };
  const send = (token: string, method: Method, path: string, { body, requestId }: Parts) =>
    request(`${base}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        // Without it PayPal answers only ids and links.
        Prefer: 'return=representation',
        ...(body && { 'Content-Type': 'application/json' }),
        ...(requestId !== undefined && { 'PayPal-Request-Id': requestId }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const call = async (method: Method, path: string, parts: Parts = {}): Promise<Json> => {
    const token = await accessToken(settings, askForToken);
    const first = await send(token, method, path, parts);
    if (first.status !== 401) return readAnswer(services, first.status, first.text());
    // PayPal has ended the token before its time, and has done nothing.
    await dropToken(settings, token);
    const second = await send(await accessToken(settings, askForToken), method, path, parts);
    return readAnswer(services, second.status, second.text());
  };
  return {
    get: (path, query = {}) => call('GET', `${path}${queryOf(query)}`),
    post: (path, body, requestId) => call('POST', path, { body, ...(requestId !== undefined && { requestId }) }),
    delete: (path) => call('DELETE', path),
    async checkCredentials() {
      await askForToken();
    },
  };
}

function queryOf(query: Readonly<Record<string, string | number | boolean>>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function readToken(status: number, text: string): AccessToken {
  const body = parseJson(text) ?? {};
  const token = textIn(body, 'access_token');
  if (status === 200 && token !== undefined) {
    const seconds = wholeIn(body, 'expires_in');
    return { text: token, lifeMs: seconds === undefined ? TOKEN_LIFE_MS : seconds * 1_000 };
  }
  if (status === 400 || status === 401 || status === 403)
    throw new PayPalError(
      'refused',
      'PayPal does not accept the client ID and the secret. Credentials of the sandbox work only with the mode "sandbox", others only with "live".',
      { status },
    );
  throw new PayPalError('unavailable', `PayPal answered with the status ${status} when it was asked for a token.`);
}

function readAnswer({ log }: Pick<PluginServices, 'log'>, status: number, text: string): Json {
  const body = parseJson(text);
  if (status === 204) return {};
  if (status >= 200 && status < 300) {
    if (body) return body;
    throw new PayPalError('unavailable', 'PayPal answered what is no JSON.');
  }
  const error = body ?? {};
  const said = descriptionOf(error) ?? textIn(error, 'message') ?? `PayPal answered with the status ${status}.`;
  // PayPal's support asks for this number.
  log.warn('paypal.refused', { status, issue: issueOf(error), debugId: textIn(error, 'debug_id') });
  const kind = isTemporary(status, error) ? 'unavailable' : 'refused';
  throw new PayPalError(kind, said.slice(0, MESSAGE_LENGTH_MAX), { status, error });
}

/** 409: another request for the same object is running. */
function isTemporary(status: number, error: Json): boolean {
  if (status === 409 || status === 429 || status >= 500 || status < 400) return true;
  return IN_PROGRESS.has(issueOf(error) ?? '');
}

function issueOf(error: Json): string | undefined {
  const [detail] = listIn(error, 'details');
  return (detail && textIn(detail, 'issue')) ?? textIn(error, 'name');
}

function descriptionOf(error: Json): string | undefined {
  const [detail] = listIn(error, 'details');
  return detail && textIn(detail, 'description');
}
