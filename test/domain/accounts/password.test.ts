/** Passwords at rest (hard case E14): argon2id, PHC strings of any cost, two hashes at a time, equal work for nobody. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, test } from 'vitest';
import { hashPassword, isOutdated, verifyNobody, verifyPassword } from '../../../src/domain/accounts/password.ts';

const { argon2 } = crypto;
afterEach(() => {
  crypto.argon2 = argon2;
  syncBuiltinESMExports();
});

/** Counts what runs, with what it was asked for. */
function watchHashes() {
  const seen = { running: 0, most: 0, settings: [] as string[] };
  const watched: typeof argon2 = (algorithm, parameters, callback) => {
    seen.running++;
    seen.most = Math.max(seen.most, seen.running);
    seen.settings.push(`${algorithm} ${parameters.memory} ${parameters.passes} ${parameters.parallelism}`);
    argon2(algorithm, parameters, (error, hash) => {
      seen.running--;
      callback(error, hash);
    });
  };
  crypto.argon2 = watched;
  syncBuiltinESMExports();
  return seen;
}

test('a password is kept as argon2id with 19 MiB, two passes, one lane, and a salt of its own', async () => {
  const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(one).not.toBe(two);
  expect(await verifyPassword('correct horse', one)).toBe(true);
  expect(await verifyPassword('correct horsf', one)).toBe(false);
  expect(isOutdated(one)).toBe(false);
});

test('hashes of other costs, and scrypt ones, are read with theirs and are out of date', async () => {
  const salt = Buffer.alloc(16, 7);
  const weaker = await new Promise<Buffer>((resolve, reject) =>
    argon2(
      'argon2id',
      { message: 'correct horse', nonce: salt, tagLength: 32, memory: 8_192, passes: 1, parallelism: 1 },
      (error, hash) => (error ? reject(error) : resolve(hash)),
    ),
  );
  const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  const old = `$argon2id$v=19$m=8192,t=1,p=1$${text(salt)}$${text(weaker)}`;
  const scrypted = crypto.scryptSync('correct horse', salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  const older = `$scrypt$ln=14,r=8,p=1$${text(salt)}$${text(scrypted)}`;
  for (const phc of [old, older]) {
    expect(isOutdated(phc)).toBe(true);
    expect(await verifyPassword('correct horse', phc)).toBe(true);
    expect(await verifyPassword('correct horsf', phc)).toBe(false);
  }
});

test('at most two hashes run at once', async () => {
  const seen = watchHashes();
  await Promise.all(Array.from({ length: 12 }, () => hashPassword('correct horse')));
  expect(seen).toMatchObject({ most: 2, running: 0 });
  expect(seen.settings).toHaveLength(12);
});

test('nobody, and a hash that cannot be read, take the same work as somebody', async () => {
  const phc = await hashPassword('correct horse');
  const seen = watchHashes();
  await verifyPassword('guess', phc);
  await verifyNobody('guess');
  expect(await verifyPassword('guess', 'x')).toBe(false);
  expect(seen.settings).toEqual(Array(3).fill('argon2id 19456 2 1'));
});

test('composed and decomposed letters are one password', async () => {
  const phc = await hashPassword('Ångström über');
  expect(await verifyPassword('Ångström über'.normalize('NFD'), phc)).toBe(true);
});
