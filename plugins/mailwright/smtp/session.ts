/** From an address to a server that is ready for messages: greeting, EHLO, STARTTLS, login; and the parting. */
import { createHmac } from 'node:crypto';
import { SendingError, type DriverOptions } from '../../../src/plugin-api/index.ts';
import { capabilitiesOf, NO_CAPABILITIES, type Capabilities } from './capabilities.ts';
import { SmtpChannel } from './channel.ts';
import { dial, upgrade } from './dial.ts';
import { unavailable } from './reply-meaning.ts';
import type { Reply } from './reply.ts';
import type { SmtpSettings } from './settings.ts';

/** Manners have a limit: a server that does not answer QUIT is left without an answer. */
const QUIT_MS_MAX = 2_000;

export interface SessionOptions extends DriverOptions {
  readonly settings: SmtpSettings;
  /** Ends an opening that is under way. */
  readonly signal: AbortSignal;
}

/** A connection that may be given messages. */
export interface Session {
  readonly channel: SmtpChannel;
  readonly capabilities: Capabilities;
}

/** Opens one connection, encrypted and logged in as the settings ask; throws `unavailable` and leaves nothing open. */
export async function openSession(options: SessionOptions): Promise<Session> {
  let channel: SmtpChannel | undefined;
  const abort = () => channel?.destroy(new Error('The driver was closed'));
  try {
    const socket = await dial(options.settings, {
      timeoutMs: options.replyTimeoutMs,
      signal: options.signal,
      lookup: options.lookup,
    });
    channel = new SmtpChannel(socket, options.replyTimeoutMs);
    options.signal.addEventListener('abort', abort, { once: true });
    return { channel, capabilities: await converse(channel, options) };
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    channel?.destroy(reason);
    throw reason instanceof SendingError ? reason : unavailable(reason.message || reason.name);
  } finally {
    options.signal.removeEventListener('abort', abort);
  }
}

/** Says QUIT, waits a moment for the answer and lets go of the socket. Never throws. */
export async function quit(channel: SmtpChannel): Promise<void> {
  const timer = setTimeout(() => channel.destroy(new Error('The server did not answer QUIT')), QUIT_MS_MAX);
  await channel.request('QUIT').catch(() => undefined);
  clearTimeout(timer);
  channel.destroy(new Error('The connection was closed'));
}

async function converse(channel: SmtpChannel, options: SessionOptions): Promise<Capabilities> {
  const greeting = await channel.reply();
  if (!greeting.isPositive) throw unavailable('The server does not take connections', greeting);
  let capabilities = await introduce(channel, options.clientName);
  if (options.settings.encryption === 'starttls') {
    await startTls(channel, { options, isOffered: capabilities.starttls });
    // what was offered in plain text could have been written by anybody on the way (RFC 3207 4.2)
    capabilities = await introduce(channel, options.clientName);
  }
  if (options.settings.username !== '')
    await logIn(channel, { settings: options.settings, offered: capabilities.auth });
  return capabilities;
}

async function introduce(channel: SmtpChannel, clientName: string): Promise<Capabilities> {
  const answer = await channel.request(`EHLO ${clientName}`);
  if (answer.isPositive) return capabilitiesOf(answer);
  if (answer.code < 500) throw unavailable('The server refused EHLO', answer);
  const older = await channel.request(`HELO ${clientName}`);
  if (!older.isPositive) throw unavailable('The server refused EHLO and HELO', older);
  return NO_CAPABILITIES;
}

async function startTls(channel: SmtpChannel, tls: { options: SessionOptions; isOffered: boolean }): Promise<void> {
  const { settings, replyTimeoutMs, signal } = tls.options;
  if (!tls.isOffered) throw unavailable('The server offers no STARTTLS, and these settings do not allow plain text');
  const answer = await channel.request('STARTTLS');
  if (!answer.isPositive) throw unavailable('The server refused STARTTLS', answer);
  await channel.replaceSocket((plain) => upgrade(plain, settings, { timeoutMs: replyTimeoutMs, signal }));
}

async function logIn(
  channel: SmtpChannel,
  login: { settings: SmtpSettings; offered: ReadonlySet<string> },
): Promise<void> {
  const { username, password, encryption } = login.settings;
  // in plain text a challenge is better than the password itself
  const preferred = encryption === 'none' ? ['CRAM-MD5', 'PLAIN', 'LOGIN'] : ['PLAIN', 'LOGIN', 'CRAM-MD5'];
  const mechanism = preferred.find((name) => login.offered.has(name));
  if (mechanism === undefined)
    throw unavailable('The server offers no login that this client knows (PLAIN, LOGIN, CRAM-MD5)');
  const answer = await authenticate(channel, { mechanism, username, password });
  if (!answer.isPositive) throw unavailable('The server refused the login', answer);
}

interface Credentials {
  readonly mechanism: string;
  readonly username: string;
  readonly password: string;
}

/** RFC 4616 (PLAIN), RFC 2195 (CRAM-MD5) and the LOGIN of old clients; answers the last reply. */
async function authenticate(channel: SmtpChannel, { mechanism, username, password }: Credentials): Promise<Reply> {
  if (mechanism === 'PLAIN') return channel.request(`AUTH PLAIN ${base64(`\u0000${username}\u0000${password}`)}`);
  const challenge = await channel.request(`AUTH ${mechanism}`);
  if (challenge.code !== 334) return challenge;
  if (mechanism === 'CRAM-MD5') {
    const nonce = Buffer.from(challenge.lines()[0] ?? '', 'base64');
    return channel.request(base64(`${username} ${createHmac('md5', password).update(nonce).digest('hex')}`));
  }
  const prompt = await channel.request(base64(username));
  return prompt.code === 334 ? channel.request(base64(password)) : prompt;
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
