/** The port of the web server: checks that it is free, and says what to do if not. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { messageOf } from '../lib/errors.ts';

/**
 * Checks whether the web server can listen, before anything else is started that would have to be stopped again.
 * Throws the sentence of `cannotListen`.
 */
export async function requireListening(host: string, port: number): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, 'listening');
  } catch (error) {
    throw cannotListen(error, host, port);
  }
  probe.close();
  await once(probe, 'close');
}

/** Says why, and what to do. */
export function cannotListen(error: unknown, host: string, port: number): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const why =
    code === 'EADDRINUSE'
      ? `another program uses this port; set PORT to a free one (PORT=0 takes any), or stop the other program`
      : code === 'EACCES'
        ? `this user may not use that port; set PORT to a number above 1023`
        : `${messageOf(error)}; check HOST and PORT`;
  return new Error(`The web server cannot listen on ${host}, port ${port}: ${why}.`, { cause: error });
}
