/**
 * Passwords at rest: Argon2id (RFC 9106) as PHC strings. 19 MiB, two passes, one lane is OWASP's smallest
 * recommended setting and takes about 40 ms. A Node without Argon2 (before 24.7) uses scrypt; both kinds verify
 * wherever the algorithm is there.
 */
import * as crypto from 'node:crypto';
import { promisify } from 'node:util';
import { sameBytes } from '../../lib/crypto.ts';

/** Hashing takes memory and a thread of the pool that DNS and files also need: at most two at a time. */
const HASHES_AT_ONCE_MAX = 2;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1 } as const;
/** OWASP's equal of the above for scrypt: N = 2^15, r = 8, p = 3. */
const SCRYPT = { logN: 15, blockSize: 8, parallelization: 3 } as const;
const SCRYPT_MEMORY_MAX = 64 * 1024 * 1024;

const scrypt = promisify<string, Buffer, number, crypto.ScryptOptions, Buffer>(crypto.scrypt);

/** The PHC string of a password. Every call takes its own salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES);
  return inTurn(async () =>
    hasArgon2() ? argon2Phc(salt, await argon2(password, salt)) : scryptPhc(salt, await scryptHash(password, salt)),
  );
}

/** Whether the password is the one behind the PHC string. A string it cannot read answers false. */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const parts = parsePhc(phc);
  if (!parts) return false;
  const hash = await inTurn(() =>
    parts.algorithm === 'argon2id' ? argon2(password, parts.salt) : scryptHash(password, parts.salt),
  );
  return sameBytes(hash, parts.hash);
}

/** Takes as long as `verifyPassword`: for unknown users, so that the time tells nothing. */
export async function verifyNobody(password: string): Promise<false> {
  nobody ??= hashPassword(crypto.randomBytes(SALT_BYTES).toString('hex'));
  await verifyPassword(password, await nobody);
  return false;
}

let nobody: Promise<string> | undefined;

function hasArgon2(): boolean {
  return typeof crypto.argon2 === 'function';
}

function argon2(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parameters = { message: password, nonce: salt, tagLength: HASH_BYTES, ...ARGON2 };
    crypto.argon2('argon2id', parameters, (error, hash) => (error ? reject(error) : resolve(hash)));
  });
}

function scryptHash(password: string, salt: Buffer): Promise<Buffer> {
  const { logN, blockSize, parallelization } = SCRYPT;
  return scrypt(password, salt, HASH_BYTES, {
    N: 2 ** logN,
    r: blockSize,
    p: parallelization,
    maxmem: SCRYPT_MEMORY_MAX,
  });
}

const ARGON2_PREFIX = `$argon2id$v=19$m=${ARGON2.memory},t=${ARGON2.passes},p=${ARGON2.parallelism}$`;
const SCRYPT_PREFIX = `$scrypt$ln=${SCRYPT.logN},r=${SCRYPT.blockSize},p=${SCRYPT.parallelization}$`;

const argon2Phc = (salt: Buffer, hash: Buffer) => `${ARGON2_PREFIX}${base64(salt)}$${base64(hash)}`;
const scryptPhc = (salt: Buffer, hash: Buffer) => `${SCRYPT_PREFIX}${base64(salt)}$${base64(hash)}`;

interface PhcParts {
  readonly algorithm: 'argon2id' | 'scrypt';
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Reads the two kinds written here; other costs than today's are added here when they change. */
function parsePhc(phc: string): PhcParts | undefined {
  const prefix = [ARGON2_PREFIX, SCRYPT_PREFIX].find((one) => phc.startsWith(one));
  const [salt, hash] = prefix ? phc.slice(prefix.length).split('$') : [];
  if (!salt || !hash) return undefined;
  const algorithm = prefix === ARGON2_PREFIX ? 'argon2id' : 'scrypt';
  if (algorithm === 'argon2id' && !hasArgon2()) return undefined;
  return { algorithm, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= HASHES_AT_ONCE_MAX) await new Promise<void>((resume) => waiting.push(resume));
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
