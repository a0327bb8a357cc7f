/** The noun: a license of the product. It says who holds it and for how long; it limits nothing. */
import { z } from 'zod';
import type { Context } from '../context.ts';
import { deleteSettings, readSetting, writeSetting } from './setting-store.ts';

export interface License {
  /** null: there is no document, and this is the community edition. */
  readonly holder: string | null;
  readonly plan: string | null;
  /** null: it does not expire. */
  readonly expiresAt: Date | null;
  readonly isExpired: boolean;
  /** When the document was read last; null: never. */
  readonly refreshedAt: Date | null;
}

const LINE_LENGTH_MAX = 200;
const line = z.string().min(1).max(LINE_LENGTH_MAX);

/** What is signed. */
export const licenseText = z.object({ holder: line, plan: line, expiresAt: z.iso.datetime().nullish() });
/** What a document is: the text that was signed, byte by byte, and its signature. */
export const licenseDocument = z.object({ license: z.string(), signature: z.string() });

const KEY = 'installation.license';

interface Stored {
  readonly holder: string;
  readonly plan: string;
  readonly expiresAt: string | null;
  readonly refreshedAt: string;
}

/** The license that was read last. */
export async function readLicense({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<License> {
  const stored = await readSetting<Stored>(db, KEY);
  if (!stored) return { holder: null, plan: null, expiresAt: null, isExpired: false, refreshedAt: null };
  const expiresAt = stored.expiresAt === null ? null : new Date(stored.expiresAt);
  return {
    ...{ holder: stored.holder, plan: stored.plan, expiresAt },
    isExpired: expiresAt !== null && expiresAt <= clock.now(),
    refreshedAt: new Date(stored.refreshedAt),
  };
}

export async function keepLicense(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { holder, plan, expiresAt = null }: z.output<typeof licenseText>,
): Promise<void> {
  const stored: Stored = { holder, plan, expiresAt, refreshedAt: clock.now().toISOString() };
  await writeSetting(db, KEY, stored);
}

export async function dropLicense({ db }: Pick<Context, 'db'>): Promise<void> {
  await deleteSettings(db, [KEY]);
}
