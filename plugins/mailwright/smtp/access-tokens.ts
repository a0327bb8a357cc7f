/**
 * The access token of one account (OAuth 2.0, RFC 6749): given in the settings, or fetched with a refresh token when the last one
 * has expired. Kept in memory only; connections that open together share one request.
 */
import type { DriverOptions } from '../../../src/plugin-api/index.ts';
import { unavailable } from './reply-meaning.ts';
import type { SmtpSettings } from './settings.ts';

/** Tokens are renewed this long before they expire, so that none expires during its use. */
const SPARE_MS = 60_000;
/** The default lifetime: the answer need not name one, and with every large provider it is an hour. */
const LIFE_SECONDS = 3_600;

export class AccessTokens {
  readonly #settings: SmtpSettings;
  readonly #postForm: DriverOptions['postForm'];
  #token: { readonly text: string; readonly until: number } | undefined;
  #request: Promise<string> | undefined;

  constructor(settings: SmtpSettings, postForm: DriverOptions['postForm']) {
    this.#settings = settings;
    this.#postForm = postForm;
  }

  /** A valid token; throws `unavailable`. */
  async current(): Promise<string> {
    const { oauth_refresh_token, oauth_access_token } = this.#settings;
    if (oauth_refresh_token === undefined) return oauth_access_token ?? '';
    if (this.#token && performance.now() < this.#token.until) return this.#token.text;
    this.#request ??= this.#renewed(oauth_refresh_token).finally(() => (this.#request = undefined));
    return this.#request;
  }

  /** The server refused the current token. */
  discard(): void {
    this.#token = undefined;
  }

  async #renewed(refreshToken: string): Promise<string> {
    const { oauth_token_url, oauth_client_id, oauth_client_secret } = this.#settings;
    if (!this.#postForm || oauth_token_url === undefined)
      throw unavailable('There is no way to ask for an access token');
    const answer = await this.#postForm(oauth_token_url, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      ...(oauth_client_id === undefined ? {} : { client_id: oauth_client_id }),
      ...(oauth_client_secret === undefined ? {} : { client_secret: oauth_client_secret }),
    }).catch((error: unknown) => {
      throw unavailable(`No access token could be had: ${error instanceof Error ? error.message : String(error)}`);
    });
    const { token, seconds } = readAnswer(answer);
    this.#token = { text: token, until: performance.now() + seconds * 1_000 - SPARE_MS };
    return token;
  }
}

/** The answer of RFC 6749 5.1. */
function readAnswer(answer: string): { token: string; seconds: number } {
  const fields = parsed(answer);
  const token = fields['access_token'];
  if (typeof token !== 'string' || !/^[\u0021-\u007e]{1,10000}$/.test(token))
    throw unavailable('The answer of the token url holds no access token');
  const seconds = Number(fields['expires_in'] ?? LIFE_SECONDS);
  return { token, seconds: Number.isFinite(seconds) ? seconds : LIFE_SECONDS };
}

function parsed(answer: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(answer);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
