/** Logs in by the best mechanism that server and settings allow (RFC 4954, 4616, 2195, and XOAUTH2 of the large providers). */
import { createHmac } from 'node:crypto';
import { formsOfPassword, hideSecrets, SendingError } from '../../../src/plugin-api/index.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { SmtpChannel } from './channel.ts';
import { unavailable } from './reply-meaning.ts';
import type { Reply } from './reply.ts';
import type { SmtpSettings } from './settings.ts';

/** The server waits for the next part of the login. */
const GO_ON = 334;

type Mechanism = 'PLAIN' | 'LOGIN' | 'CRAM-MD5' | 'XOAUTH2';

interface Login {
  readonly settings: SmtpSettings;
  /** What the server offers, in capitals. */
  readonly offered: ReadonlySet<string>;
  readonly isSecure: boolean;
  readonly tokens: AccessTokens;
}

/** Throws `unavailable` when no mechanism fits or the server refuses; the error contains no secret. */
export async function logIn(channel: SmtpChannel, login: Login): Promise<void> {
  const mechanism = mechanismFor(login);
  const token = mechanism === 'XOAUTH2' ? await login.tokens.current() : '';
  const secrets = [...formsOfPassword(login.settings), token, tokenResponse(login.settings.username, token)];
  const answer = await authenticate(channel, mechanism, { ...login, token }).catch((error: unknown) => {
    throw unavailable(hideSecrets(error instanceof Error ? error.message : String(error), secrets));
  });
  if (answer.isPositive) return;
  // the token may have been withdrawn early: the next connection requests a new one
  if (mechanism === 'XOAUTH2') login.tokens.discard();
  const { message, kind, ...said } = unavailable('The server refused the login', answer);
  throw new SendingError(kind, hideSecrets(message, secrets), said);
}

function mechanismFor({ settings, offered, isSecure }: Login): Mechanism {
  const wanted = mechanismsFor(settings, isSecure);
  const mechanism = wanted.find((name) => offered.has(name));
  if (mechanism !== undefined) return mechanism;
  const kinds = offered.size === 0 ? 'none' : [...offered].join(', ');
  if (settings.encryption === 'opportunistic' && !isSecure)
    throw unavailable(
      'The server offers no encryption, and the password is not sent in plain text unless encryption is none',
    );
  throw unavailable(`The server offers no login that these settings allow (${wanted.join(', ')}); it offers ${kinds}`);
}

function mechanismsFor(
  { auth = 'auto', encryption, oauth_access_token, oauth_refresh_token }: SmtpSettings,
  isSecure: boolean,
) {
  const hasToken = oauth_access_token !== undefined || oauth_refresh_token !== undefined;
  const named: Mechanism[] =
    auth === 'auto' || auth === 'none'
      ? [...(hasToken ? (['XOAUTH2'] as const) : []), 'PLAIN', 'LOGIN', 'CRAM-MD5']
      : [({ plain: 'PLAIN', login: 'LOGIN', 'cram-md5': 'CRAM-MD5', xoauth2: 'XOAUTH2' } as const)[auth]];
  if (isSecure) return named;
  // an attacker who can change the connection can also remove the offer of encryption: then only a challenge is safe
  if (encryption === 'opportunistic') return named.filter((name) => name === 'CRAM-MD5');
  return named.toSorted((a, b) => Number(b === 'CRAM-MD5') - Number(a === 'CRAM-MD5'));
}

/** Answers the last reply of the server. */
async function authenticate(
  channel: SmtpChannel,
  mechanism: Mechanism,
  { settings, token }: Login & { token: string },
): Promise<Reply> {
  const { username, password } = settings;
  if (mechanism === 'PLAIN') return channel.request(`AUTH PLAIN ${base64(`\u0000${username}\u0000${password}`)}`);
  if (mechanism === 'XOAUTH2') return authenticateByToken(channel, username, token);
  const challenge = await channel.request(`AUTH ${mechanism}`);
  if (challenge.code !== GO_ON) return challenge;
  if (mechanism === 'CRAM-MD5') {
    const nonce = Buffer.from(challenge.lines()[0] ?? '', 'base64');
    return channel.request(base64(`${username} ${createHmac('md5', password).update(nonce).digest('hex')}`));
  }
  const prompt = await channel.request(base64(username));
  return prompt.code === GO_ON ? channel.request(base64(password)) : prompt;
}

async function authenticateByToken(channel: SmtpChannel, username: string, token: string): Promise<Reply> {
  const answer = await channel.request(`AUTH XOAUTH2 ${tokenResponse(username, token)}`);
  // a refusal comes as a challenge with the reason in it; an empty answer fetches the refusal itself
  return answer.code === GO_ON ? channel.request('') : answer;
}

function tokenResponse(username: string, token: string): string {
  return base64(`user=${username}\u0001auth=Bearer ${token}\u0001\u0001`);
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
