/** The folders and the code of plugins as verbs see them; src/plugin-host has them. */
import type { PluginRights } from '../plugin-api/index.ts';

export interface PluginKey {
  readonly vendor: string;
  readonly name: string;
}

/** A plugin's folder. */
export interface FoundPlugin extends PluginKey {
  readonly version: string;
  readonly title: string;
  readonly description: string;
  /** It is part of the product. */
  readonly isBundled: boolean;
  /** What its manifest asks for. */
  readonly wants: PluginRights;
  /** Its place below the folder of added plugins, with links followed; null: it is not there. */
  readonly folder: string | null;
  /** Why it cannot be used, in a sentence; null: nothing is wrong with its folder and code. */
  readonly fault: string | null;
}

/** A migration in a plugin's folder. */
export interface PluginMigrationFile {
  readonly no: number;
  readonly name: string;
  readonly upSql: string;
  readonly downSql: string | null;
}

/** What the database says about a plugin, for `follow`. */
export interface PluginState extends PluginKey {
  readonly isActive: boolean;
  readonly activatedAt: Date | null;
  /** What was granted; null: nothing yet. */
  readonly granted: PluginRights | null;
  /** Where the version is that was activated, as `folder` of FoundPlugin. */
  readonly folder: string | null;
}

/** A version that was installed. */
export interface PluginVersionKey extends PluginKey {
  readonly version: string;
  /** SHA-256 of its archive. */
  readonly digest: string;
}

export interface KeptPluginVersion extends PluginVersionKey {
  /** `<vendor>/<name>` leads to it. */
  readonly isCurrent: boolean;
}

/** The folders of installed versions. */
export interface PluginPackages {
  /** Reads an archive. Throws an Error with a sentence. Nothing is written. */
  read(archive: Buffer): Promise<PluginKey & { readonly version: string }>;
  /** What an unpacked version asks for; undefined: it is not here, or its package.json cannot be used. */
  wantsOf(version: PluginVersionKey): Promise<PluginRights | undefined>;
  /** Whether somebody has put a folder there by hand. */
  isOwnFolder(plugin: PluginKey): Promise<boolean>;
  /** Writes the version's folder, unless it is there. */
  unpack(version: PluginVersionKey, archive: Buffer): Promise<void>;
  /** Whether `arrange` has nothing to do. */
  isInOrder(kept: readonly KeptPluginVersion[]): Promise<boolean>;
  /** Makes folders and links agree with what is kept; `load` reads an archive that has no folder here yet. */
  arrange<Kept extends KeptPluginVersion>(
    kept: readonly Kept[],
    load: (version: Kept) => Promise<Buffer>,
  ): Promise<void>;
}

/** A plugin whose hooks are live. */
export interface LivePlugin {
  /** `vendor/name` */
  readonly name: string;
  readonly folder: string;
  /** Another one when a file has changed. */
  readonly fingerprint: string;
  /** Hosts to which its routes may send a browser. */
  readonly browserHosts: readonly string[];
}

export interface PluginHost {
  readonly packages: PluginPackages;
  /** `SAFE_MODE`: the code of plugins that are not bundled is not loaded. */
  readonly isSafeMode: boolean;
  /**
   * Reads all folders, and loads the code of what is new or has changed, unless it is live or `switchedOff` has its name. A fault of the code
   * is in `fault`.
   */
  discover(switchedOff?: ReadonlySet<string>): Promise<readonly FoundPlugin[]>;
  /** The folder as it was when this process looked last; undefined: there was none. */
  found(plugin: PluginKey): FoundPlugin | undefined;
  /** The migrations in its folder, by number. Throws an Error with a sentence when one is not in order. */
  migrationsOf(plugin: PluginKey): Promise<readonly PluginMigrationFile[]>;
  /**
   * Loads the plugin as its folder is now and runs `boot`; nothing is live yet. Then runs `change`, the transaction of the activation,
   * which calls `goLive` as its last act. When any of this fails, the plugin is not live, unless it was before.
   */
  activate<T>(plugin: PluginKey, change: (goLive: () => void) => Promise<T>): Promise<T>;
  /**
   * Makes this process agree with the database, which is read while nothing else changes here. What fails is logged, and tried again the
   * next time.
   */
  follow(read: () => Promise<readonly PluginState[]>): Promise<void>;
  isLive(plugin: PluginKey): boolean;
  /** From now on looks at this version in place of the current one; undefined: no more. */
  preview(plugin: PluginKey, version: PluginVersionKey | undefined): Promise<void>;
  /** The plugin as it is live in this process; undefined: it is not. */
  live(plugin: PluginKey): LivePlugin | undefined;
  /** Removes the plugin's folder, if there is one. */
  removeFolder(plugin: PluginKey): Promise<void>;
}
