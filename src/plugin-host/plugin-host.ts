/**
 * The plugins of this process: what is on disk, what is loaded, what is live. Its methods run one after the other, and whatever changes
 * the hooks is done without a pause, so that a call sees all hooks of a plugin or none.
 */
import { realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { NO_RIGHTS, rightsBeyond, type Plugin, type PluginRights } from '../plugin-api/index.ts';
import { findPlugins, readPluginFolder, type PluginFolder, type PluginPlaces } from './find-plugins.ts';
import type { HookBus } from './hook-bus.ts';
import { importPlugin } from './import-plugin.ts';
import { PackageFolders, type VersionKey } from './package-folders.ts';
import { readMigrations, type MigrationFile } from './plugin-migrations.ts';

interface Key {
  readonly vendor: string;
  readonly name: string;
}

interface State extends Key {
  readonly isActive: boolean;
  readonly activatedAt: Date | null;
  readonly granted: PluginRights | null;
  readonly folder: string | null;
}

/** Code on the bus. */
interface Loaded {
  readonly plugin: Plugin;
  readonly folder: string;
  readonly fingerprint: string;
  /** What its manifest asked for when it was loaded. */
  readonly rights: PluginRights;
}

interface Live extends Loaded {
  /** By which the database tells one activation from the next; undefined: not read yet. */
  readonly activatedAt: number | undefined;
}

/** Why code could not be loaded; it is not tried again before a file changes. */
interface Failure {
  readonly fingerprint: string;
  readonly message: string;
}

export interface PluginHostOptions {
  readonly bus: HookBus;
  readonly places: PluginPlaces;
  readonly isSafeMode: boolean;
  readonly log: Log;
}

const SAFE_MODE = 'SAFE_MODE is set: the code of plugins that are not part of the product is not loaded.';

export class ProcessPlugins {
  readonly #bus: HookBus;
  readonly #places: PluginPlaces;
  readonly #log: Log;
  readonly isSafeMode: boolean;
  readonly packages: PackageFolders;
  /** Versions that are looked at in place of the current ones, by the plugin's name. */
  readonly #previews = new Map<string, VersionKey>();
  /** The folder of added plugins, with links followed. */
  #real = '';
  #folders: ReadonlyMap<string, PluginFolder> = new Map();
  readonly #loaded = new Map<string, Loaded>();
  readonly #live = new Map<string, Live>();
  readonly #failures = new Map<string, Failure>();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ bus, places, isSafeMode, log }: PluginHostOptions) {
    this.#bus = bus;
    this.#places = places;
    this.isSafeMode = isSafeMode;
    this.#log = log;
    this.packages = new PackageFolders(places.installed);
  }

  discover(switchedOff: ReadonlySet<string> = new Set()) {
    return this.#alone(async () => {
      await this.#look();
      const loads = [...this.#folders].filter(([name]) => !this.#live.has(name) && !switchedOff.has(name));
      for (const [name, folder] of loads) await this.#register(name, folder);
      for (const name of this.#loaded.keys()) if (!this.#folders.has(name) && !this.#live.has(name)) this.#unload(name);
      return [...this.#folders].map(([name, folder]) => this.#foundOf(name, folder));
    });
  }

  found(key: Key) {
    const name = nameOf(key);
    const folder = this.#folders.get(name);
    return folder && this.#foundOf(name, folder);
  }

  async migrationsOf(key: Key): Promise<readonly MigrationFile[]> {
    const folder = this.#folders.get(nameOf(key));
    return folder ? readMigrations(folder) : [];
  }

  activate<T>(key: Key, change: (goLive: () => void) => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      const name = nameOf(key);
      const next = await this.#import(name);
      const before = this.#live.get(name);
      const goLive = () => {
        if (before?.fingerprint !== next.fingerprint) this.#goLive(name, { ...next, activatedAt: undefined });
      };
      try {
        return await change(goLive);
      } catch (error) {
        this.#restore(name, before);
        throw error;
      }
    });
  }

  follow(read: () => Promise<readonly State[]>): Promise<void> {
    return this.#alone(async () => {
      const states = await read();
      const active = new Map(states.filter(({ isActive }) => isActive).map((state) => [nameOf(state), state]));
      for (const name of this.#live.keys()) if (!active.has(name)) this.#takeBack(name);
      const known = new Set(states.map(nameOf));
      for (const name of this.#loaded.keys()) if (!known.has(name)) this.#unload(name);
      const changed = [...active].filter(([name, state]) => this.#live.get(name)?.activatedAt !== timeOf(state));
      if (changed.length === 0) return;
      await this.#look();
      for (const [name, state] of changed) await this.#followOne(name, state);
    });
  }

  preview(key: Key, version: VersionKey | undefined): Promise<void> {
    return this.#alone(async () => {
      if (version) this.#previews.set(nameOf(key), version);
      else this.#previews.delete(nameOf(key));
      await this.#look();
    });
  }

  isLive(key: Key): boolean {
    return this.#live.has(nameOf(key));
  }

  live(key: Key) {
    const live = this.#live.get(nameOf(key));
    const { folder, fingerprint, rights } = live ?? {};
    if (folder === undefined || fingerprint === undefined) return undefined;
    return { name: nameOf(key), folder, fingerprint, browserHosts: rights?.browserHosts ?? [] };
  }

  removeFolder({ vendor, name }: Key): Promise<void> {
    return this.#alone(async () => {
      this.#unload(nameOf({ vendor, name }));
      const place = path.join(this.#places.installed, vendor, name);
      // The names are those of a folder that was found; a name that leads elsewhere is none.
      if (path.dirname(path.dirname(place)) !== path.resolve(this.#places.installed)) return;
      await rm(place, { recursive: true, force: true });
      await rmdir(path.dirname(place)).catch(() => undefined);
      await this.packages.removeAll({ vendor, name });
      await this.#look();
    });
  }

  async #followOne(name: string, state: State): Promise<void> {
    const before = this.#live.get(name);
    const activatedAt = timeOf(state);
    try {
      const next = await this.#import(name, await this.#granted(name, state));
      if (before?.fingerprint === next.fingerprint) this.#live.set(name, { ...before, activatedAt });
      else this.#goLive(name, { ...next, activatedAt });
      this.#failures.delete(`live ${name}`);
    } catch (error) {
      this.#restore(name, before);
      this.#logOnce(name, messageOf(error));
    }
  }

  async #look(): Promise<void> {
    const found = await findPlugins(this.#places);
    this.#real = await realpath(this.#places.installed).catch(() => path.resolve(this.#places.installed));
    const folders = new Map(found.map((folder) => [nameOf(folder), folder]));
    for (const [name, version] of this.#previews) {
      const { vendor, name: plugin } = version;
      const names = { vendor, name: plugin, isBundled: false };
      folders.set(name, await readPluginFolder(this.packages.folderOf(version), names));
    }
    this.#folders = folders;
  }

  #foundOf(name: string, { vendor, name: plugin, isBundled, folder, manifest, fault, fingerprint }: PluginFolder) {
    const failure = this.#failures.get(name);
    const ofCode = failure?.fingerprint === fingerprint ? failure.message : null;
    const place = isBundled ? null : path.relative(this.#real, folder);
    const { version = '', title = name, description = '', wants = NO_RIGHTS } = manifest ?? {};
    return {
      vendor,
      name: plugin,
      version,
      title,
      description,
      isBundled,
      wants,
      folder: place,
      fault: fault ?? ofCode,
    };
  }

  /** Loads the code of a plugin that is not live, and runs its `register`. A failure is kept. */
  async #register(name: string, folder: PluginFolder): Promise<void> {
    const { fault, fingerprint, isBundled } = folder;
    const isKnown = [this.#loaded.get(name), this.#failures.get(name)].some((it) => it?.fingerprint === fingerprint);
    if (fault !== null || isKnown || (this.isSafeMode && !isBundled)) return;
    try {
      const loaded = await load(folder);
      this.#unload(name);
      this.#bus.register(loaded.plugin, loaded);
      this.#loaded.set(name, loaded);
    } catch (error) {
      this.#failures.set(name, { fingerprint, message: messageOf(error) });
      this.#log.warn('plugin.not_loaded', { plugin: name, message: messageOf(error) });
    }
  }

  /**
   * The folder whose code may run: the one that is there, or else that of the version that was activated, if it is kept in a folder of
   * its own. Throws an Error with a sentence when both ask for more than was granted.
   */
  async #granted(
    name: string,
    { vendor, name: plugin, granted, folder: kept }: State,
  ): Promise<PluginFolder | undefined> {
    const now = this.#folders.get(name);
    if (!now?.manifest || now.isBundled || isGranted(now, granted)) return now;
    const place = path.resolve(this.#real, kept ?? '.');
    if (kept !== null && place.startsWith(this.#real + path.sep)) {
      const before = await readPluginFolder(place, { vendor, name: plugin, isBundled: false });
      if (before.manifest && isGranted(before, granted)) return before;
    }
    throw new Error('Its folder has a version that asks for more than was granted: activate it to grant that.');
  }

  /** The code as it is on disk now. */
  async #import(name: string, folder = this.#folders.get(name)): Promise<Loaded> {
    if (!folder) throw new Error('Its folder is not there.');
    if (folder.fault !== null) throw new Error(folder.fault);
    if (this.isSafeMode && !folder.isBundled) throw new Error(SAFE_MODE);
    return load(folder);
  }

  /** In place of what was live of it, at one instant. */
  #goLive(name: string, next: Live): void {
    this.#unload(name);
    this.#bus.register(next.plugin, next);
    this.#loaded.set(name, next);
    this.#bus.boot(next.plugin);
    this.#bus.goLive(name);
    this.#live.set(name, next);
  }

  #takeBack(name: string): void {
    this.#bus.takeBack(name);
    this.#live.delete(name);
  }

  #restore(name: string, before: Live | undefined): void {
    if (this.#live.get(name) === before && before) return;
    if (before) this.#goLive(name, before);
    else if (this.#loaded.has(name)) this.#takeBack(name);
  }

  #unload(name: string): void {
    if (!this.#loaded.has(name)) return;
    this.#bus.remove(name);
    this.#loaded.delete(name);
    this.#live.delete(name);
  }

  #logOnce(name: string, message: string): void {
    if (this.#failures.get(`live ${name}`)?.message === message) return;
    this.#failures.set(`live ${name}`, { fingerprint: '', message });
    this.#log.error('plugin.not_live', { plugin: name, message });
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#last.then(work);
    this.#last = running.catch(() => undefined);
    return running;
  }
}

function isGranted({ manifest }: PluginFolder, granted: PluginRights | null): boolean {
  return granted !== null && manifest !== undefined && rightsBeyond(granted, manifest.wants) === undefined;
}

async function load(folder: PluginFolder): Promise<Loaded> {
  const plugin = await importPlugin(folder);
  return {
    ...{ plugin, folder: folder.folder, fingerprint: folder.fingerprint },
    rights: folder.manifest?.wants ?? NO_RIGHTS,
  };
}

function nameOf({ vendor, name }: Key): string {
  return `${vendor}/${name}`;
}

function timeOf({ activatedAt }: State): number | undefined {
  return activatedAt?.getTime();
}
