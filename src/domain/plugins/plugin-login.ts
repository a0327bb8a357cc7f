/** The database login of a plugin: its name and its password, which follow from the installation and are stored nowhere. */
import { pbkdf2Sync } from 'node:crypto';
import { createMac, deriveKey, sha256 } from '../../lib/crypto.ts';
import type { PluginKey } from '../plugin-host.ts';
import { fullName } from './plugin.ts';

export interface PluginLogin {
  readonly role: string;
  readonly password: string;
}

/** Of an identifier in PostgreSQL. */
const ROLE_BYTES_MAX = 63;
/** https://www.rfc-editor.org/rfc/rfc7677, the fewest; the password is random, so that more would protect nothing. */
const SCRAM_ITERATIONS = 4_096;

/** Roles belong to the whole server, so the name has that of the database. A long name is cut off, with a digest of it. */
export function pluginLogin(
  { database, secret }: { database: string; secret: string },
  plugin: PluginKey,
): PluginLogin {
  const name = `${database}_${plugin.vendor}_${plugin.name}`.replaceAll('-', '_');
  const digest = sha256(`${database} ${fullName(plugin)}`)
    .toString('hex')
    .slice(0, 12);
  const role = `${Buffer.from(name)
    .subarray(0, ROLE_BYTES_MAX - digest.length - 1)
    .toString('utf8')
    .replaceAll('\uFFFD', '')}_${digest}`;
  return { role, password: deriveKey(secret, `plugin login ${database} ${fullName(plugin)}`).toString('hex') };
}

/** What PostgreSQL stores of the password: statements with it may stand in the log of the server. */
export function scramVerifier(password: string): string {
  const salt = sha256(`salt ${password}`).subarray(0, 16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const hmac = createMac('sha256', salted);
  const [client, server] = ['Client Key', 'Server Key'].map((text) =>
    Buffer.from(hmac(Buffer.from(text), 'base64url'), 'base64url'),
  );
  if (!client || !server) throw new Error('The keys were not made.');
  const stored = sha256(client).toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${stored}:${server.toString('base64')}`;
}
