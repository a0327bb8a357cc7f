/** What our SMTP servers have in common. */
import type { Server } from 'node:net';

/** An error for the SMTP library's callbacks: `message` follows the code. */
export function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Waits until the server listens and returns its port; rejects when the port is not free. */
export async function listeningPort(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}
