/** Versions of the program beside the running one, as verbs see them; src/release-host has them. */

/** `staged`: complete and ready to be used; the first three are under way. */
export type UpgradeState =
  | 'none'
  | 'downloading'
  | 'checking'
  | 'preparing'
  | 'staged'
  | 'failed'
  | 'cancelled'
  | 'done';

export interface UpgradeStatus {
  readonly state: UpgradeState;
  /** Why it failed. */
  readonly reason: string | null;
  /** The version that was staged; null: it is not read yet. */
  readonly version: string | null;
  /** Bytes that have come so far. */
  readonly sizeBytes: number;
  readonly changedAt: Date | null;
}

export interface ReleaseSource {
  readonly url: string;
  readonly sha256: string;
  readonly signature: string;
  readonly keys: readonly string[];
  readonly allowedHosts: readonly string[];
}

export interface ReleaseHost {
  /** Of the version that runs. */
  readonly version: string;
  /** Why this process cannot be replaced by another version, in a sentence; null: it can. */
  readonly refusal: string | null;
  status(): UpgradeStatus;
  /** Begins to download, check, unpack and prepare a version, and returns at once. False: one is under way. */
  stage(source: ReleaseSource): boolean;
  /** Ends what is under way, or removes what is staged. False: there is nothing. */
  cancel(): Promise<boolean>;
  /** The folder with the migrations of the staged version; undefined: none is staged. */
  migrationsFolder(): string | undefined;
  /** The staged version runs from the next start on. */
  use(): void;
}
