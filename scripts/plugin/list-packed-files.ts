/** Which files of a plugin's folder are part of its archive. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ToolError } from '../support/tool-error.ts';

/** Only of use where the plugin is written. `tsconfig.json` leads to that machine's Mailwright. */
const LEFT_OUT = new Set(['node_modules', 'tsconfig.json', 'package-lock.json', 'coverage']);
const ARCHIVE = /\.(tgz|tar\.gz|zip)$/;

/** Paths below `root`, with slashes, in a fixed order. Of node_modules only what `dependencies` of package.json need. */
export async function listPackedFiles(root: string, { withTests }: { readonly withTests: boolean }): Promise<string[]> {
  const isLeftOut = (name: string) => LEFT_OUT.has(name) || ARCHIVE.test(name) || (name === 'tests' && !withTests);
  const own = await filesBelow(root, '', isLeftOut);
  const packages: string[] = [];
  for (const folder of await packagesOf(root))
    packages.push(...(await filesBelow(root, folder, (name) => name === 'node_modules')));
  // By their bytes, which are the same order everywhere.
  return [...own, ...packages].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Hidden files stay behind. Throws ToolError for a link. */
async function filesBelow(root: string, below: string, isLeftOut: (name: string) => boolean): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(path.join(root, below), { withFileTypes: true })) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name.startsWith('.') || isLeftOut(entry.name)) continue;
    if (entry.isDirectory()) files.push(...(await filesBelow(root, name, below === '' ? () => false : isLeftOut)));
    else if (entry.isFile()) files.push(name);
    else throw new ToolError(`${name} is a link or no file: an archive may have only files and folders.`);
  }
  return files;
}

/** The folders below `root` of the packages that it needs to run, and of those that these need. */
async function packagesOf(root: string): Promise<string[]> {
  const found = new Set<string>();
  const open = [''];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    for (const [name, isOptional] of await dependenciesOf(path.join(root, place))) {
      const folder = await findPackage(root, place, name);
      if (folder === undefined && !isOptional)
        throw new ToolError(`The package ${name} is not installed. Run "npm install" in the plugin's folder first.`);
      if (folder === undefined || found.has(folder)) continue;
      found.add(folder);
      open.push(folder);
    }
  }
  return [...found];
}

async function dependenciesOf(folder: string): Promise<Map<string, boolean>> {
  const text = await readFile(path.join(folder, 'package.json'), 'utf8');
  const { dependencies = {}, optionalDependencies = {} }: Record<string, Record<string, string> | undefined> =
    JSON.parse(text);
  return new Map([
    ...Object.keys(dependencies).map((name) => [name, false] as const),
    ...Object.keys(optionalDependencies).map((name) => [name, true] as const),
  ]);
}

/** As Node looks for it: in the package's own node_modules, then in those above it. */
async function findPackage(root: string, place: string, name: string): Promise<string | undefined> {
  const parents = place === '' ? [] : place.split('/');
  for (let depth = parents.length; depth >= 0; depth--) {
    const folder = [...parents.slice(0, depth), 'node_modules', name].join('/');
    const found = await stat(path.join(root, folder, 'package.json')).catch(() => undefined);
    if (found?.isFile()) return folder;
  }
  return undefined;
}
