/** A file that is made once is whole, closed to others, and the first one's. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeOnce } from '../../src/lib/make-once.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'mailwright-once-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('keeps the first text, readable by its owner only, and nothing else', () => {
  const file = path.join(folder, 'secret');
  makeOnce(file, 'first');
  makeOnce(file, 'second');
  expect(readFileSync(file, 'utf8')).toBe('first');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['secret']);
});

it('leaves nothing where it cannot be made', () => {
  expect(() => makeOnce(path.join(folder, 'missing', 'secret'), 'text')).toThrow('ENOENT');
  expect(readdirSync(folder)).toEqual(['secret']);
});
