/** Paths of the project, and small helpers to read and fingerprint files. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');
export const binFolder = inProject('node_modules/.bin');

export function inProject(...parts) {
  return path.join(root, ...parts);
}

/** The parsed file, or undefined when it is absent or not JSON. */
export function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Writes a record of finished work. A read-only image works without it. */
export function writeRecord(file, record) {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(record, undefined, 2)}\n`);
  } catch (error) {
    if (!['EROFS', 'EACCES', 'EPERM'].includes(error.code)) throw error;
  }
}

/** One hash over names and contents; an absent file counts as empty. */
export function fingerprint(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash.update(`${file}\0${existsSync(inProject(file)) ? readFileSync(inProject(file)) : ''}\0`);
  return hash.digest('hex');
}

export function installedVersion(name) {
  return readJson(inProject('node_modules', name, 'package.json'))?.version ?? 'absent';
}
