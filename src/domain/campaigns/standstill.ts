/**
 * What stops every campaign of the installation: a hold, or a database that takes no writes. Checked when it is read, because the
 * second cannot be written to the database.
 */
import type { Queryable } from '../../db/database.ts';
import { writeProblem } from '../../db/full-disk.ts';
import { readableTime } from '../../lib/units.ts';
import { installationHold } from '../accounts/installation-hold-read-model.ts';

/** As a sentence; null: nothing stops them. */
export async function standstillOf(db: Queryable): Promise<string | null> {
  const trouble = writeProblem();
  if (trouble === 'full')
    return 'The disk of the database is full. Sending continues automatically when there is free space.';
  if (trouble === 'read-only') return 'The database accepts no writes. Sending continues automatically when it does.';
  const held = await installationHold(db);
  if (!held) return null;
  const since = held.since ? ` since ${readableTime(held.since)}` : '';
  return `The installation is on hold${since}. Nothing is sent until an administrator ends the hold.`;
}
