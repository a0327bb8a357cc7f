/** A newer version that is staged for good, for tests that walk all rows in this process: nothing would start it. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { MIGRATIONS } from '../../src/db/migration-state.ts';
import type { ReleaseHost, UpgradeStatus } from '../../src/domain/release-host.ts';
import { afterFile } from './after-file.ts';
import { newSigner } from './plugin-archive.ts';
import type { RestApp } from './rest-app.ts';

const STATUS: UpgradeStatus = { state: 'staged', reason: null, version: '9.0.0', sizeBytes: 1, changedAt: new Date(0) };

/** One for each program: test files share a process. */
const folders = new WeakMap<RestApp, string>();
let made = 0;
/** Of ten digits. */
const NUMBER_MAX = 9_999_999_999;

/** Puts it in place of the program's own, and answers the name of a migration that is the next one. */
export function stageRelease(app: RestApp): string {
  const { ctx } = app;
  const folder = folders.get(app) ?? migrationsFolder();
  folders.set(app, folder);
  // The latest one is the next: worlds before may have left theirs.
  const name = `2999${String(NUMBER_MAX - (made += 1))}_next`;
  mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, name, 'migration.sql'), 'SELECT 1;');
  const releases: ReleaseHost = {
    ...{ version: '0.1.0', refusal: null, status: () => STATUS, use: () => undefined },
    ...{ stage: () => true, cancel: async () => true, migrationsFolder: () => folder },
  };
  const trust = { ...ctx.installation.trust, releaseKeys: [newSigner().key] };
  // The object itself: entry points have copies of the context.
  Object.assign(ctx.releases ?? {}, releases);
  Object.assign(ctx.installation, { trust });
  return name;
}

function migrationsFolder(): string {
  const copy = mkdtempSync(path.join(os.tmpdir(), 'mailwright-migrations-'));
  cpSync(MIGRATIONS, copy, { recursive: true });
  afterFile(() => rmSync(copy, { recursive: true, force: true }));
  return copy;
}
