/**
 * Stored passwords: Argon2id (RFC 9106) as PHC strings. 19 MiB, two passes, one lane is OWASP's smallest recommended setting and
 * takes about 40 ms. A Node without Argon2 (before 24.7) uses scrypt; both kinds verify wherever the algorithm exists.
 */
import * as crypto from 'node:crypto';
import { promisify } from 'node:util';
import { sameBytes } from '../../lib/crypto.ts';
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts';
import { tooManyLogins } from './account-errors.ts';

/** Hashing takes memory and a thread of the pool that DNS and files also need: at most two at a time. */
const HASHES_AT_ONCE_MAX = 2;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const ARGON2 = { algorithm: 'argon2id', memory: 19_456, passes: 2, parallelism: 1 } as const;
/** OWASP's equivalent for scrypt: N = 2^15, r = 8, p = 3. */
const SCRYPT = { algorithm: 'scrypt', logN: 15, blockSize: 8, parallelization: 3 } as const;
const SCRYPT_MEMORY_MAX = 64 * 1024 * 1024;

interface Argon2Settings {
  readonly algorithm: 'argon2id';
  /** KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}
interface ScryptSettings {
  readonly algorithm: 'scrypt';
  readonly logN: number;
  readonly blockSize: number;
  readonly parallelization: number;
}
type Settings = Argon2Settings | ScryptSettings;

const scrypt = promisify<string, Buffer, number, crypto.ScryptOptions, Buffer>(crypto.scrypt);

/** The PHC string of a password. Every call uses a new salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES);
  const settings = hasArgon2() ? ARGON2 : SCRYPT;
  return phcOf(settings, salt, await hashing.run(() => derive(settings, password, salt)));
}

/** Whether the password matches the PHC string. An unreadable string returns false. */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const parts = parsePhc(phc);
  if (!parts) return verifyNobody(password);
  return sameBytes(await hashing.run(() => derive(parts.settings, password, parts.salt)), parts.hash);
}

/** Whether the string was made with older settings and should be replaced. */
export function isOutdated(phc: string): boolean {
  const today = settingsText(hasArgon2() ? ARGON2 : SCRYPT);
  return !phc.startsWith(`${today}$`);
}

/** Does the work of `verifyPassword` for unknown users, so that the time reveals nothing. */
export async function verifyNobody(password: string): Promise<false> {
  await hashing.run(() => derive(hasArgon2() ? ARGON2 : SCRYPT, password, NOBODYS_SALT));
  return false;
}

const NOBODYS_SALT = crypto.randomBytes(SALT_BYTES);

function hasArgon2(): boolean {
  return typeof crypto.argon2 === 'function';
}

/** One password typed on two systems may come as different code points (NIST SP 800-63B, 3.1.1.2). */
function derive(settings: Settings, password: string, salt: Buffer): Promise<Buffer> {
  const message = password.normalize('NFKC');
  return settings.algorithm === 'argon2id' ? argon2(settings, message, salt) : scryptHash(settings, message, salt);
}

function argon2({ memory, passes, parallelism }: Argon2Settings, message: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parameters = { message, nonce: salt, tagLength: HASH_BYTES, memory, passes, parallelism };
    crypto.argon2('argon2id', parameters, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

function scryptHash({ logN, blockSize, parallelization }: ScryptSettings, message: string, salt: Buffer) {
  return scrypt(message, salt, HASH_BYTES, {
    N: 2 ** logN,
    r: blockSize,
    p: parallelization,
    maxmem: SCRYPT_MEMORY_MAX,
  });
}

function settingsText(settings: Settings): string {
  return settings.algorithm === 'argon2id'
    ? `$argon2id$v=19$m=${settings.memory},t=${settings.passes},p=${settings.parallelism}`
    : `$scrypt$ln=${settings.logN},r=${settings.blockSize},p=${settings.parallelization}`;
}

function phcOf(settings: Settings, salt: Buffer, hash: Buffer): string {
  return `${settingsText(settings)}$${base64(salt)}$${base64(hash)}`;
}

interface PhcParts {
  readonly settings: Settings;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const ARGON2_PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;
const SCRYPT_PHC = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;

/** Reads both kinds with any costs. */
function parsePhc(phc: string): PhcParts | undefined {
  const argon2id = ARGON2_PHC.exec(phc);
  const [a, b, c, salt, hash] = (argon2id ?? SCRYPT_PHC.exec(phc))?.slice(1) ?? [];
  if (salt === undefined || hash === undefined || (argon2id && !hasArgon2())) return undefined;
  const [first, second, third] = [Number(a), Number(b), Number(c)];
  const settings: Settings = argon2id
    ? { algorithm: 'argon2id', memory: first, passes: second, parallelism: third }
    : { algorithm: 'scrypt', logN: first, blockSize: second, parallelization: third };
  return { settings, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

/** Ten seconds of hashing: further callers are refused. */
const HASHES_WAITING_MAX = 400;
const COME_AGAIN_SECONDS = 10;

const hashing = createConcurrencyLimit({
  runningMax: HASHES_AT_ONCE_MAX,
  waitingPerKeyMax: HASHES_WAITING_MAX,
  refuse: () => tooManyLogins(COME_AGAIN_SECONDS),
});
