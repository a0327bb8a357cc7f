/** Finds the folders of plugins, `<vendor>/<name>`, and reads their package.json. No code is loaded here. */
import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../lib/errors.ts';
import { ManifestError, parseManifest, type PluginManifest } from './plugin-manifest.ts';

export interface PluginPlaces {
  /** The folder of the plugins that are part of the product. */
  readonly bundled: string;
  /** The folder of those that the operator has added. */
  readonly installed: string;
}

export interface PluginFolder {
  readonly vendor: string;
  readonly name: string;
  readonly isBundled: boolean;
  readonly folder: string;
  /** Undefined: `fault` says why it could not be read. */
  readonly manifest: PluginManifest | undefined;
  readonly fault: string | null;
  /** Another one when a file has changed; those of the product change with the program only. */
  readonly fingerprint: string;
}

const MANIFEST_BYTES_MAX = 100_000;
/** A package with more files has its build tools in it. */
const FILES_MAX = 20_000;

/** All folders, by name. A folder with the name of a bundled plugin has a fault. */
export async function findPlugins({ bundled, installed }: PluginPlaces): Promise<readonly PluginFolder[]> {
  const own = await foldersBelow(bundled, true);
  const names = new Set(own.map(({ vendor, name }) => `${vendor}/${name}`));
  const added = (await foldersBelow(installed, false)).filter(({ vendor, name }) => !names.has(`${vendor}/${name}`));
  return [...own, ...added];
}

async function foldersBelow(root: string, isBundled: boolean): Promise<PluginFolder[]> {
  const found: PluginFolder[] = [];
  for (const vendor of await foldersIn(root))
    for (const name of await foldersIn(path.join(root, vendor)))
      found.push(await readPluginFolder(path.join(root, vendor, name), { vendor, name, isBundled }));
  return found;
}

/** Reads the folder of one plugin. What is wrong with it is in `fault`. */
export async function readPluginFolder(
  place: string,
  names: Pick<PluginFolder, 'vendor' | 'name' | 'isBundled'>,
): Promise<PluginFolder> {
  const base = { ...names, folder: place, fingerprint: '', manifest: undefined };
  try {
    // A version may stand in a folder of its own, with a link to it here: its files then have addresses of their own.
    const folder = await realpath(place);
    const manifest = parseManifest(await readManifest(folder), names);
    await requireFile(path.join(folder, manifest.entry), manifest.entry);
    const fingerprint = names.isBundled ? manifest.version : await fingerprintOf(folder);
    return { ...base, folder, manifest, fingerprint, fault: null };
  } catch (error) {
    return {
      ...base,
      fault: error instanceof ManifestError ? error.message : `It cannot be read: ${messageOf(error)}`,
    };
  }
}

async function readManifest(folder: string): Promise<string> {
  const file = path.join(folder, 'package.json');
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) throw new ManifestError('It has no package.json.');
  if (found.size > MANIFEST_BYTES_MAX) throw new ManifestError(`Its package.json is over ${MANIFEST_BYTES_MAX} bytes.`);
  return readFile(file, 'utf8');
}

async function requireFile(file: string, name: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) throw new ManifestError(`"exports" of package.json names ${name}, which is not there.`);
}

async function fingerprintOf(folder: string): Promise<string> {
  const hash = createHash('sha256').update(folder);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  if (entries.length > FILES_MAX) throw new ManifestError(`It has more than ${FILES_MAX} files.`);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  for (const file of files.sort()) {
    const { size, mtimeMs, ino } = await stat(file);
    hash.update(`\n${file} ${size} ${mtimeMs} ${ino}`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Names of the folders, and of links to folders; hidden ones are left out. None where there is no such folder. */
async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names: string[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const isFolder = entry.isSymbolicLink()
      ? await stat(path.join(folder, entry.name)).then(
          (it) => it.isDirectory(),
          () => false,
        )
      : entry.isDirectory();
    if (isFolder) names.push(entry.name);
  }
  return names.sort();
}
