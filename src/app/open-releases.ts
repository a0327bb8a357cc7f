/** Versions of the program beside this one, and making room for a newer one that is in use. */
import path from 'node:path';
import type { Settings } from '../config/settings.ts';
import { UPGRADE_STEPS } from '../db/migrate.ts';
import type { Notifications } from '../db/listen.ts';
import type { Context } from '../domain/context.ts';
import { RELEASE_CHANNEL } from '../domain/installation/upgrade.ts';
import { deleteSettings } from '../domain/installation/setting-store.ts';
import { currentRelease } from '../lib/current-release.ts';
import type { Log } from '../lib/log.ts';
import { ProcessReleases } from '../release-host/release-host.ts';
import type { ParentLink } from './parent-link.ts';

const OWN = path.join(import.meta.dirname, '..', '..');

interface Means {
  /** Its end ends the listening. */
  readonly closers: AsyncDisposableStack;
  readonly notifications: Notifications;
  readonly parent: ParentLink | undefined;
  readonly log: Log;
}

/** Opens them. From then on this process ends when a newer version is in use on its machine, and its parent starts that one. */
export function openReleases(
  { DATA_DIR: dataDir }: Pick<Settings, 'DATA_DIR'>,
  { closers, notifications, parent, log }: Means,
): ProcessReleases {
  const host = new ProcessReleases({ dataDir, own: OWN, hasParent: parent !== undefined, log });
  const endForNewer = async () => {
    if (!parent || currentRelease(dataDir, OWN) === OWN) return;
    log.info('upgrade.ending', { version: host.version });
    await parent.report({ kind: 'replace' });
    process.kill(process.pid, 'SIGTERM');
  };
  // The answer to whoever has asked for it goes out first.
  const stopListening = notifications.listen(
    RELEASE_CHANNEL,
    () => void setTimeout(() => void endForNewer(), ANSWER_MS),
  );
  closers.defer(() => stopListening());
  return host;
}

const ANSWER_MS = 500;

/** This version works: the one before need not be able to start any more. */
export async function endUpgrade({ database, releases }: Context): Promise<void> {
  const { state, version } = releases?.status() ?? {};
  if (state === 'done' && version === releases?.version) await deleteSettings(database, [UPGRADE_STEPS]);
}
