/** The files that are checked, and the module of each. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { readSourceFile, type SourceFile } from './source-file.ts';

const FOLDERS = ['src', 'plugins', 'scripts', 'bench', 'test', 'web/src'];

/** A fault, with its place and what to do. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

/** Every TypeScript file of the project under `root`, generated ones aside. */
export function readProject(root: string): SourceFile[] {
  return FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root, exclude: isForeign }))
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !file.startsWith('src/generated/'))
    .sort()
    .map((file) => readSourceFile(root, file));
}

/** `src/domain/audience/x.ts` is in `domain/audience`, `src/lib/x.ts` in `lib`, any `*.test.ts` in `test`. */
export function moduleOf(file: string): string {
  const [top = '', first = '', second = '', ...rest] = file.split('/');
  if (file.endsWith('.test.ts')) return 'test';
  if (top !== 'src') return top;
  if (first === 'main.ts' || first === 'program.ts') return 'main';
  if (first === 'domain') return rest.length > 0 ? `domain/${second}` : 'domain/context';
  return first;
}

/** Whether a file belongs to the product, and not to the programs around it. */
export function isProduct({ path: file }: SourceFile): boolean {
  return (file.startsWith('src/') || file.startsWith('plugins/')) && moduleOf(file) !== 'test';
}

/** One line per finding, for the message of a failed assertion. */
export function report(findings: readonly Finding[]): string[] {
  return findings.map(({ path: file, line, what }) => `${file}:${line} ${what}`);
}

function isForeign(name: string): boolean {
  return name === 'node_modules' || name.endsWith('/node_modules') || name.endsWith('src/generated');
}
