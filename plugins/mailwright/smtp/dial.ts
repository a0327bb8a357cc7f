/** Opens the socket to a server, plain or with TLS, and turns a plain one into TLS (STARTTLS). */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { connectionFaultInWords } from '../../../src/plugin-api/index.ts';
import type { SmtpSettings } from './settings.ts';

/** A reachable host answers a TCP or TLS handshake within this. */
const HANDSHAKE_MS_MAX = 30_000;

interface DialOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** How host names are resolved; absent: as the system does. */
  readonly lookup?: LookupFunction | undefined;
}

/** A connected socket: with TLS from the first byte when the settings say `tls`, plain otherwise. */
export async function dial(settings: SmtpSettings, options: DialOptions): Promise<Socket> {
  const address = {
    host: bareHost(settings.host),
    port: settings.port,
    ...(options.lookup ? { lookup: options.lookup } : {}),
  };
  if (settings.encryption === 'tls') {
    const socket = connectTls({ ...address, ...tlsOptions(settings) });
    return settled(socket, { ...options, event: 'secureConnect' });
  }
  return settled(connect(address), { ...options, event: 'connect' });
}

/** The same connection under TLS. The caller has removed its listeners from the plain socket. */
export async function upgrade(socket: Socket, settings: SmtpSettings, options: DialOptions): Promise<TLSSocket> {
  const secured = connectTls({ socket, host: bareHost(settings.host), ...tlsOptions(settings) });
  return settled(secured, { ...options, event: 'secureConnect' });
}

function tlsOptions(settings: SmtpSettings): ConnectionOptions {
  const host = bareHost(settings.host);
  return {
    // a connection that would also accept plain text loses nothing by an unverified certificate (RFC 7435)
    rejectUnauthorized: !settings.allow_invalid_certificate && settings.encryption !== 'opportunistic',
    minVersion: 'TLSv1.2',
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
}

/** `[::1]` is how people write it, `::1` is what the resolver takes. */
function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

interface Settling extends DialOptions {
  readonly event: 'connect' | 'secureConnect';
}

/** Waits for the handshake; on an error, a timeout or the signal it closes the socket and rejects. */
function settled<Kind extends Socket>(socket: Kind, { event, timeoutMs, signal }: Settling): Promise<Kind> {
  socket.setNoDelay(true);
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      release();
      // an error event without a listener would end the process
      socket.on('error', () => {});
      socket.destroy();
      reject(connectionFaultInWords(error));
    };
    const onEvent = () => {
      release();
      resolve(socket);
    };
    const onClose = () => fail(new Error('The server closed the connection during the handshake'));
    const onAbort = () => fail(new Error('The driver was closed'));
    const timer = setTimeout(
      () => fail(new Error('The server did not answer the connection in time')),
      Math.min(timeoutMs, HANDSHAKE_MS_MAX),
    );
    const release = () => {
      clearTimeout(timer);
      socket.off(event, onEvent).off('error', fail).off('close', onClose);
      signal.removeEventListener('abort', onAbort);
    };
    socket.once(event, onEvent).once('error', fail).once('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
