/** From an address to a server that is ready for messages: greeting, EHLO, STARTTLS, login; and QUIT. */
import { SendingError, type DriverOptions } from '../../../src/plugin-api/index.ts';
import { capabilitiesOf, NO_CAPABILITIES, type Capabilities } from './capabilities.ts';
import { SmtpChannel } from './channel.ts';
import { dial, upgrade } from './dial.ts';
import { logIn } from './login.ts';
import type { AccessTokens } from './access-tokens.ts';
import { unavailable } from './reply-meaning.ts';
import type { SmtpSettings } from './settings.ts';

/** How long we wait for the answer to QUIT. */
const QUIT_MS_MAX = 2_000;

export interface SessionOptions extends DriverOptions {
  readonly settings: SmtpSettings;
  /** Ends an opening in progress. */
  readonly signal: AbortSignal;
  /** Shared by all connections of a driver. */
  readonly tokens: AccessTokens;
}

/** A connection that is ready for messages. */
export interface Session {
  readonly channel: SmtpChannel;
  readonly capabilities: Capabilities;
}

/** Opens one connection, encrypted and logged in as the settings demand; throws `unavailable` and leaves nothing open. */
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
    return { channel, capabilities: await negotiate(channel, options) };
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    channel?.destroy(reason);
    throw reason instanceof SendingError ? reason : unavailable(reason.message || reason.name);
  } finally {
    options.signal.removeEventListener('abort', abort);
  }
}

/** Sends QUIT, waits a moment for the answer and closes the socket. Never throws. */
export async function quit(channel: SmtpChannel): Promise<void> {
  const timer = setTimeout(() => channel.destroy(new Error('The server did not answer QUIT')), QUIT_MS_MAX);
  await channel.request('QUIT').catch(() => undefined);
  clearTimeout(timer);
  channel.destroy(new Error('The connection was closed'));
}

async function negotiate(channel: SmtpChannel, options: SessionOptions): Promise<Capabilities> {
  const { settings, clientName } = options;
  const greeting = await channel.reply();
  if (!greeting.isPositive) throw unavailable('The server does not take connections', greeting);
  let capabilities = await introduce(channel, clientName);
  let isSecure = settings.encryption === 'tls';
  if (settings.encryption === 'starttls' || (settings.encryption === 'opportunistic' && capabilities.starttls)) {
    await startTls(channel, { options, isOffered: capabilities.starttls });
    // an offer in plain text could have been written by an attacker (RFC 3207 4.2)
    capabilities = await introduce(channel, clientName);
    isSecure = true;
  }
  if (settings.username !== '' && settings.auth !== 'none')
    await logIn(channel, { settings, offered: capabilities.auth, isSecure, tokens: options.tokens });
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
