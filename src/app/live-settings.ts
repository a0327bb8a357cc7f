/** The settings of the installation as this process knows them: read at the start, and again whenever one has changed. */
import type { Database } from '../db/database.ts';
import type { Notifications } from '../db/listen.ts';
import { readSettings, SETTINGS_CHANNEL } from '../domain/installation/change-settings.ts';
import type { InstallationSettings } from '../domain/installation/settings.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

/** Reading failed: the database is away or busy. It is tried again after this long. */
const RETRY_MS = 1_000;

export interface LiveSettings {
  current(): InstallationSettings;
  close(): void;
}

/** Reads them, and keeps them current. A gap in the notifications counts as a change. */
export async function openLiveSettings(
  database: Database,
  { notifications, log }: { notifications: Notifications; log: Log },
): Promise<LiveSettings> {
  let readings = 0;
  let retry: NodeJS.Timeout | undefined;
  const readAgain = async (): Promise<void> => {
    const reading = (readings += 1);
    clearTimeout(retry);
    try {
      const settings = await readSettings(database);
      // An older reading that comes late says what no longer holds.
      if (reading === readings) current = settings;
    } catch (error) {
      if (reading !== readings) return;
      log.warn('settings.not_read', { message: messageOf(error) });
      retry = setTimeout(() => void readAgain(), RETRY_MS).unref();
    }
  };
  // Before the first reading: a change right after it is heard of.
  const stopListening = notifications.listen(SETTINGS_CHANNEL, () => void readAgain());
  let current = await readSettings(database);
  return {
    current: () => current,
    close() {
      stopListening();
      readings += 1;
      clearTimeout(retry);
    },
  };
}
