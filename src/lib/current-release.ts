/**
 * Which version of the program is to run: the one that came with it, or a newer one that was put beside it in `DATA_DIR/releases`. There
 * `current` is a link to the version in use and `former` to the one before; each is replaced at one instant. `trial.json` names a version
 * that has not worked yet, so that also a parent process that is started later goes back if it does not start.
 */
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

export const RELEASES = 'releases';
const CURRENT = 'current';
const FORMER = 'former';
const TRIAL = 'trial.json';

/** The folder of the version to run: `own`, unless a newer one is in use. A program that was itself replaced by a newer one counts again. */
export function currentRelease(dataDir: string, own: string): string {
  try {
    const folder = realpathSync(path.join(dataDir, RELEASES, CURRENT));
    return isNewer(versionIn(folder), versionIn(own)) ? folder : own;
  } catch {
    return own;
  }
}

/** From the next start on this version runs, on trial. `before`: the version that runs now. */
export function useRelease(dataDir: string, folder: string, before: string): void {
  mkdirSync(path.join(dataDir, RELEASES), { recursive: true, mode: 0o700 });
  writeTrial(dataDir, { folder: path.basename(folder), reason: null });
  if (path.dirname(before) === realpathSync(path.join(dataDir, RELEASES)))
    setLink(dataDir, FORMER, path.basename(before));
  else rmSync(path.join(dataDir, RELEASES, FORMER), { force: true });
  setLink(dataDir, CURRENT, path.basename(folder));
}

/** Whether this folder has a version that is in use and has not worked yet. */
export function isOnTrial(dataDir: string, folder: string): boolean {
  return isCurrent(dataDir, path.basename(folder)) && readTrial(dataDir)?.folder === path.basename(folder);
}

/** The version on trial works. */
export function endTrial(dataDir: string): void {
  rmSync(path.join(dataDir, RELEASES, TRIAL), { force: true });
}

/** The version before runs from the next start on, because this one does not start. */
export function leaveRelease(dataDir: string, reason: string): void {
  try {
    writeTrial(dataDir, { folder: nameOfCurrent(dataDir) ?? '', reason });
  } catch {
    // On a full disk the reason is in the log only.
  }
  const former = path.join(dataDir, RELEASES, FORMER);
  if (isLink(former)) renameSync(former, path.join(dataDir, RELEASES, CURRENT));
  else rmSync(path.join(dataDir, RELEASES, CURRENT), { force: true });
}

/** Why the version in this folder was left; undefined: it was not, or nobody could write it down. */
export function reasonOfLeaving(dataDir: string, folder: string): string | undefined {
  const trial = readTrial(dataDir);
  return trial?.folder === folder ? (trial.reason ?? undefined) : undefined;
}

/** Whether the version with this name below `releases` is in use. */
export function isCurrent(dataDir: string, folder: string): boolean {
  return nameOfCurrent(dataDir) === folder;
}

/** The version in a folder of the program. Throws when there is none. */
export function versionIn(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error(`The package.json of ${folder} has no version.`);
}

/** By the rules of https://semver.org for versions without a build; a version with a suffix is older than the one without. */
export function isNewer(one: string, other: string): boolean {
  const [a, b] = [parts(one), parts(other)];
  for (const place of [0, 1, 2] as const)
    if (a.numbers[place] !== b.numbers[place]) return a.numbers[place] > b.numbers[place];
  if (a.suffix === b.suffix) return false;
  return a.suffix === '' || (b.suffix !== '' && a.suffix.localeCompare(b.suffix, 'en', { numeric: true }) > 0);
}

interface Parts {
  readonly numbers: readonly [number, number, number];
  readonly suffix: string;
}

function parts(version: string): Parts {
  const [, major, minor, patch, suffix = ''] = /^(\d+)\.(\d+)\.(\d+)(?:-(.+))?$/.exec(version) ?? [];
  return { numbers: [Number(major ?? 0), Number(minor ?? 0), Number(patch ?? 0)], suffix };
}

interface Trial {
  /** Its name below `releases`. */
  readonly folder: string;
  /** Null: it is on trial; else why it was left. */
  readonly reason: string | null;
}

function writeTrial(dataDir: string, trial: Trial): void {
  const place = path.join(dataDir, RELEASES, TRIAL);
  writeFileSync(`${place}.new`, `${JSON.stringify(trial)}\n`, { mode: 0o600 });
  renameSync(`${place}.new`, place);
}

function readTrial(dataDir: string): Trial | undefined {
  try {
    const trial: Trial = JSON.parse(readFileSync(path.join(dataDir, RELEASES, TRIAL), 'utf8'));
    return trial;
  } catch {
    return undefined;
  }
}

function nameOfCurrent(dataDir: string): string | undefined {
  try {
    return path.basename(realpathSync(path.join(dataDir, RELEASES, CURRENT)));
  } catch {
    return undefined;
  }
}

function setLink(dataDir: string, name: string, target: string): void {
  const place = path.join(dataDir, RELEASES, name);
  const incoming = `${place}.${process.pid}`;
  rmSync(incoming, { force: true });
  symlinkSync(target, incoming);
  renameSync(incoming, place);
}

function isLink(place: string): boolean {
  try {
    return lstatSync(place).isSymbolicLink();
  } catch {
    return false;
  }
}
