/**
 * The folders of installed packages. Each version has one of its own, `.versions/<vendor>/<name>/<version>-<digest>`, written completely
 * before it gets this name; `<vendor>/<name>` is a link to the current one. A process that is killed at any moment leaves complete
 * versions and at most a folder `.incoming-…`, which the next one removes.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readlink, rename, rm, rmdir, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { isAlive } from '../lib/is-alive.ts';
import { syncFolder, unpackArchive } from '../lib/archive/unpack-archive.ts';
import type { PluginRights } from '../plugin-api/index.ts';
import { readPluginFolder } from './find-plugins.ts';
import { PACKAGE_LIMITS, readPackage, type PackageFacts } from './read-package.ts';

const VERSIONS = '.versions';
const INCOMING = '.incoming-';
/** A version that no row names may be one whose row is written a moment later. */
const UNNAMED_MS_MAX = 600_000;

export interface VersionKey {
  readonly vendor: string;
  readonly name: string;
  readonly version: string;
  /** SHA-256 of the archive. */
  readonly digest: string;
}

export interface KeptVersion extends VersionKey {
  /** The link leads to it. */
  readonly isCurrent: boolean;
}

export class PackageFolders {
  readonly #root: string;

  /** `root`: the folder of the plugins that the operator has added. */
  constructor(root: string) {
    this.#root = path.resolve(root);
  }

  /** Reads an archive. Throws ArchiveError or ManifestError. Nothing is written. */
  read(archive: Buffer): Promise<PackageFacts> {
    return readPackage(archive);
  }

  folderOf({ vendor, name, version, digest }: VersionKey): string {
    return path.join(this.#root, VERSIONS, vendor, name, `${version}-${digest.slice(0, 16)}`);
  }

  /** What an unpacked version asks for; undefined: it is not here, or its package.json cannot be used. */
  async wantsOf(version: VersionKey): Promise<PluginRights | undefined> {
    const { vendor, name } = version;
    const found = await readPluginFolder(this.folderOf(version), { vendor, name, isBundled: false });
    return found.manifest?.wants;
  }

  /** Whether a folder stands where the link would be: somebody has put it there. */
  async isOwnFolder({ vendor, name }: Pick<VersionKey, 'vendor' | 'name'>): Promise<boolean> {
    const found = await lstat(path.join(this.#root, vendor, name)).catch(() => undefined);
    return found !== undefined && !found.isSymbolicLink();
  }

  /** Writes the version's folder, unless it is there. */
  async unpack(key: VersionKey, archive: Buffer): Promise<void> {
    const folder = this.folderOf(key);
    if (await isFolder(folder)) return;
    const { root } = await readPackage(archive);
    await mkdir(path.dirname(folder), { recursive: true, mode: 0o700 });
    const incoming = path.join(this.#root, VERSIONS, `${INCOMING}${process.pid}-${randomUUID()}`);
    await unpackArchive(archive, { folder: incoming, limits: PACKAGE_LIMITS, root });
    try {
      await rename(incoming, folder);
      await syncFolder(path.dirname(folder));
    } catch (error) {
      await rm(incoming, { recursive: true, force: true });
      // Another process was faster, with the same content.
      if (!(await isFolder(folder))) throw error;
    }
  }

  /** Whether `arrange` has nothing to do. */
  async isInOrder(kept: readonly KeptVersion[]): Promise<boolean> {
    for (const each of kept) if (!(await isFolder(this.folderOf(each)))) return false;
    const wanted = new Map(
      kept.filter(({ isCurrent }) => isCurrent).map((each) => [linkName(each), this.#target(each)]),
    );
    const links = await this.#links();
    for (const [name, target] of links) if (wanted.get(name) !== target) return false;
    for (const name of wanted.keys()) if (!links.has(name) && !(await this.isOwnFolder(splitName(name)))) return false;
    return (await this.#leftOver(kept)).length === 0;
  }

  /** Makes the folders agree with the rows; `load` reads an archive that has no folder here yet. */
  async arrange<Kept extends KeptVersion>(
    kept: readonly Kept[],
    load: (version: Kept) => Promise<Buffer>,
  ): Promise<void> {
    const faults: unknown[] = [];
    for (const each of kept)
      if (!(await isFolder(this.folderOf(each))))
        // One that cannot be unpacked does not keep the others from being used.
        await load(each)
          .then((archive) => this.unpack(each, archive))
          .catch((error: unknown) => faults.push(error));
    const current = kept.filter(({ isCurrent }) => isCurrent);
    for (const each of current) await this.#link(each);
    const wanted = new Set(current.map(linkName));
    for (const name of (await this.#links()).keys())
      if (!wanted.has(name)) await this.#remove(path.join(this.#root, name));
    for (const folder of await this.#leftOver(kept)) await this.#remove(folder);
    if (faults.length > 0) throw faults[0];
  }

  /** Removes all versions of a deleted plugin. */
  async removeAll({ vendor, name }: Pick<VersionKey, 'vendor' | 'name'>): Promise<void> {
    await this.#remove(path.join(this.#root, VERSIONS, vendor, name));
  }

  async #link(version: KeptVersion): Promise<void> {
    if (await this.isOwnFolder(version)) return;
    const place = path.join(this.#root, version.vendor, version.name);
    const target = this.#target(version);
    if ((await readlink(place).catch(() => undefined)) === target) return;
    await mkdir(path.dirname(place), { recursive: true, mode: 0o700 });
    const incoming = path.join(this.#root, version.vendor, `${INCOMING}${process.pid}-${randomUUID()}`);
    await symlink(target, incoming);
    // At one instant: whoever looks sees the old version or the new one.
    await rename(incoming, place);
    await syncFolder(path.dirname(place));
  }

  /** Relative, so that the data directory may be moved. */
  #target(version: VersionKey): string {
    return path.join('..', path.relative(this.#root, this.folderOf(version)));
  }

  /** Links of ours, by `<vendor>/<name>`. */
  async #links(): Promise<ReadonlyMap<string, string>> {
    const links = new Map<string, string>();
    for (const vendor of await namesIn(this.#root))
      for (const name of vendor === VERSIONS ? [] : await namesIn(path.join(this.#root, vendor))) {
        const target = await readlink(path.join(this.#root, vendor, name)).catch(() => '');
        if (target.startsWith(`../${VERSIONS}/`)) links.set(`${vendor}/${name}`, target);
      }
    return links;
  }

  /** What dead processes have left behind, and versions that no row names. */
  async #leftOver(kept: readonly KeptVersion[]): Promise<readonly string[]> {
    const versions = path.join(this.#root, VERSIONS);
    const named = new Set(kept.map((each) => this.folderOf(each)));
    const left: string[] = [];
    for (const vendor of await namesIn(this.#root))
      for (const name of await namesIn(path.join(this.#root, vendor)))
        if (isOfDeadProcess(name) || (isIncoming(name) && (await isOld(path.join(this.#root, vendor, name)))))
          left.push(path.join(this.#root, vendor, name));
    for (const vendor of await namesIn(versions))
      for (const name of await namesIn(path.join(versions, vendor)))
        for (const version of await namesIn(path.join(versions, vendor, name))) {
          const folder = path.join(versions, vendor, name, version);
          if (!named.has(folder) && !vendor.startsWith(INCOMING) && (await isOld(folder))) left.push(folder);
        }
    return left;
  }

  async #remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    await rmdir(path.dirname(folder)).catch(() => undefined);
  }
}

/** In a container a process often has the number of the one before. */
function isIncoming(name: string): boolean {
  return name.startsWith(INCOMING);
}

function isOfDeadProcess(name: string): boolean {
  const [, pid] = name.match(/^\.incoming-(\d+)-/) ?? [];
  return pid !== undefined && Number(pid) !== process.pid && !isAlive(Number(pid));
}

async function isOld(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > UNNAMED_MS_MAX;
}

async function isFolder(folder: string): Promise<boolean> {
  return (await stat(folder).catch(() => undefined))?.isDirectory() === true;
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function linkName({ vendor, name }: VersionKey): string {
  return `${vendor}/${name}`;
}

function splitName(link: string): { readonly vendor: string; readonly name: string } {
  const [vendor = '', name = ''] = link.split('/');
  return { vendor, name };
}
