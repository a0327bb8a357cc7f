/** What servers that take mail over SMTP have in common. */
import type { Server } from 'node:net';

/** A refusal as the SMTP library's callbacks want it: `message` follows the code. */
export function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Waits until the server listens and answers its port; rejects when the port cannot be had. */
export async function listeningPort(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}
