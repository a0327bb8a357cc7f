/** Which files of the program's folder are part of a release: all that Git knows, but not what is of use only to who develops it. */
import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { TarFile } from '../support/tar-gz.ts';
import { ToolError } from '../support/tool-error.ts';

const LEFT_OUT = ['test/', 'bench/'];
/** The list of all files is far shorter. */
const LIST_BYTES_MAX = 20_000_000;

/** In a fixed order. Hidden files stay behind. Throws ToolError for a link and outside of Git. */
export function releaseFiles(root: string): TarFile[] {
  const names = git(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0').filter(isPartOf);
  return names
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((name) => ({ name, content: contentOf(root, name) }));
}

/** What is not committed, as Git lists it. */
export function changesOf(root: string): string {
  return git(root, 'status', '--porcelain');
}

function isPartOf(name: string): boolean {
  return name !== '' && !name.startsWith('.') && !LEFT_OUT.some((folder) => name.startsWith(folder));
}

function contentOf(root: string, name: string): Buffer {
  const file = path.join(root, name);
  if (!lstatSync(file, { throwIfNoEntry: false })?.isFile())
    throw new ToolError(`${name} is a link, or Git knows it and it is gone.`);
  return readFileSync(file);
}

function git(root: string, ...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: LIST_BYTES_MAX });
  } catch {
    throw new ToolError('A release is made from a folder that Git knows: clone the program, then run it there.');
  }
}
