/** `npm run release`: a key pair, and a signed archive of the program that an installation accepts. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readArchive } from '../../src/lib/archive/read-archive.ts';
import { isSignedBy } from '../../src/lib/signature.ts';
import { readRelease, RELEASE_LIMITS } from '../../src/release-host/read-release.ts';
import { newDataDir } from '../support/plugin-folder.ts';
import { runScript } from '../support/run-script.ts';

const place = newDataDir();
const inPlace = (name: string) => path.join(place, name);
const release = (...words: string[]) => runScript('release', words, {});
const ROOT = path.resolve('.');

/** What stands after a word of the report. */
const after = (text: string, word: string) => new RegExp(`${word} +(\\S+)`).exec(text)?.[1] ?? '';

test('keys writes the private key once, outside of the program, for its owner only', async () => {
  const made = await release('keys', inPlace('key.pem'));
  expect(made, made.text).toMatchObject({ code: 0 });
  expect(/RELEASE_KEYS=(\S+)/.exec(made.text)?.[1]).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(made.text).not.toContain('PRIVATE KEY');
  expect(statSync(inPlace('key.pem')).mode & 0o777).toBe(0o600);
  const first = readFileSync(inPlace('key.pem'), 'utf8');
  expect(await release('keys', inPlace('key.pem'))).toMatchObject({ code: 1, text: expect.stringContaining('EEXIST') });
  expect(readFileSync(inPlace('key.pem'), 'utf8')).toBe(first);
  symlinkSync(path.join(ROOT, 'scripts'), inPlace('link'));
  for (const within of ['key.pem', 'scripts/key.pem', inPlace('link/key.pem')]) {
    expect(await release('keys', within)).toMatchObject({
      code: 1,
      text: expect.stringMatching(/folder of the program/),
    });
    expect(existsSync(path.resolve(within))).toBe(false);
  }
});

test('pack makes what an installation reads, signed, without tests', async () => {
  const [key, out] = [inPlace('packing.pem'), inPlace('release.tgz')];
  await release('keys', key);
  const packed = await release('pack', '--sign', key, '--out', out, '--with-changes');
  expect(packed, packed.text).toMatchObject({ code: 0 });
  const archive = readFileSync(out);
  const own: unknown = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(own).toMatchObject({ version: (await readRelease(archive)).version });
  expect(after(packed.text, 'sha256')).toBe(createHash('sha256').update(archive).digest('hex'));
  expect(isSignedBy([after(packed.text, 'its key')], archive, after(packed.text, 'signature'))).toBe(true);
  const names: string[] = [];
  for await (const file of readArchive(archive, RELEASE_LIMITS)) names.push(file.path);
  expect(names).toContain('src/program.ts');
  expect(names).toContain('LICENSE');
  expect(names.filter((name) => /^(test|bench|node_modules|\.)/.test(name))).toEqual([]);
  // The same files make the same bytes.
  await release('pack', '--sign', key, '--out', inPlace('again.tgz'), '--with-changes');
  expect(readFileSync(inPlace('again.tgz')).equals(archive)).toBe(true);
});

test('pack refuses what is not committed, keys in the tree, and what is no version of the program', async () => {
  const tree = inPlace('tree');
  mkdirSync(tree);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: tree });
  git('init', '-q');
  const pack = (key: string) => runScript('release', ['pack', '--sign', key], {}, tree);
  writeFileSync(path.join(tree, 'package.json'), '{}');
  expect(await pack(inPlace('key.pem'))).toMatchObject({
    code: 1,
    text: expect.stringMatching(/Not all is committed.*package.json/s),
  });
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  expect(await pack(inPlace('key.pem'))).toMatchObject({
    code: 1,
    text: expect.stringMatching(/no version of Mailwright/),
  });
  writeFileSync(path.join(tree, '.git/key.pem'), readFileSync(inPlace('key.pem')));
  expect(await pack(path.join(tree, '.git/key.pem'))).toMatchObject({
    text: expect.stringMatching(/folder of the program/),
  });
  expect(await pack(inPlace('none.pem'))).toMatchObject({ code: 1 });
});
