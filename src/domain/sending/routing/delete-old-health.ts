/** Rows of providers and their paces grow with every domain that gets mail: old rows are deleted. */
import type { Queryable } from '../../../db/database.ts';
import { deleteOldBuckets } from './pace-store.ts';
import { deleteOldTroubles } from './sending-health-store.ts';

/** Deletes them, and answers how many they were. */
export async function deleteOldHealth(db: Queryable): Promise<number> {
  return (await deleteOldTroubles(db)) + (await deleteOldBuckets(db));
}
