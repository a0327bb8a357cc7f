/** The settings of the installation as this process knows them: read at the start, and again whenever one has changed. */
import type { Database } from '../db/database.ts';
import type { Notifications } from '../db/listen.ts';
import { readSettings, SETTINGS_CHANNEL } from '../domain/installation/change-settings.ts';
import { SETTINGS_DEFAULT, type InstallationSettings } from '../domain/installation/settings.ts';
import { messageOf } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';

/** Reading failed: the database is away or busy. It is tried again after this time. */
const RETRY_MS = 1_000;

export interface LiveSettings {
  current(): InstallationSettings;
  close(): void;
}

/** Reads them and keeps them up to date. A gap in the notifications counts as a change. */
export async function openLiveSettings(
  database: Database,
  { notifications, log }: { notifications: Notifications; log: Log },
): Promise<LiveSettings> {
  // Notifications may arrive during the first reading, so there must be a value to replace.
  let current = SETTINGS_DEFAULT;
  let readings = 0;
  let taken = 0;
  let retry: NodeJS.Timeout | undefined;
  // An older reading that arrives late is out of date.
  const take = (reading: number, settings: InstallationSettings): void => {
    if (reading < taken) return;
    taken = reading;
    current = settings;
  };
  const readAgain = async (): Promise<void> => {
    const reading = (readings += 1);
    clearTimeout(retry);
    try {
      take(reading, await readSettings(database));
    } catch (error) {
      if (reading !== readings) return;
      log.warn('settings.not_read', { message: messageOf(error) });
      retry = setTimeout(() => void readAgain(), RETRY_MS).unref();
    }
  };
  // Listening starts later than the first reading: changes in between are read afterwards.
  const stopListening = notifications.listen(SETTINGS_CHANNEL, () => void readAgain());
  take(0, await readSettings(database));
  return {
    current: () => current,
    close() {
      stopListening();
      readings += 1;
      clearTimeout(retry);
    },
  };
}
