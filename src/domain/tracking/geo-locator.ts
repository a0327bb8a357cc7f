/**
 * The location of an IP address, from a database file in MaxMind's format that the operator provides (setting GEOIP_FILE); none
 * is included. The file is in memory, and read again when it changes: an unreadable new one leaves the old one in use. Nothing is
 * sent to others.
 */
import { stat } from 'node:fs/promises';
import { open, type CityResponse, type Reader } from 'maxmind';
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { Place } from './tracking.ts';

export interface GeoLocator {
  /** Undefined: unknown, or there is no file. Never throws. */
  locate(ip: string): Place | undefined;
  close(): void;
}

/** Such a file is replaced about once a week. */
const LOOK_EVERY_MS = 30_000;
/** Types of files with places, by their name; others (networks' owners, for example) have none. */
const KNOWS_PLACES = /city|country|enterprise|insights|location/i;

interface GeoFile {
  readonly file: string;
  readonly log: Log;
  readonly lookEveryMs?: number;
}

/** Without a file every place is unknown. */
export const nowhere: GeoLocator = { locate: () => undefined, close: () => undefined };

/** Opens the file. Throws with its name when it is missing or no such database: the start then fails. */
export async function openGeoLocator({ file, log, lookEveryMs = LOOK_EVERY_MS }: GeoFile): Promise<GeoLocator> {
  // Read before the file: a change meanwhile is found the next time.
  let version = await versionOf(file);
  let reader = await read(file, log).catch((error: unknown) => {
    throw new Error(`GEOIP_FILE ${file} cannot be used: ${whatIsWrong(error)}.`, { cause: error });
  });
  const look = async (): Promise<void> => {
    const now = await versionOf(file);
    if (now === version) return;
    version = now;
    try {
      reader = await read(file, log);
    } catch (error) {
      log.warn('geoip.reload_failed', { file, message: whatIsWrong(error) });
    }
  };
  const timer = setInterval(() => void look(), lookEveryMs).unref();
  return {
    locate: (ip) => placeIn(reader, ip),
    close: () => clearInterval(timer),
  };
}

/** A readable message: the library names types and offsets. */
function whatIsWrong(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'the user that runs the program may not read it';
  if (code === 'EISDIR') return 'it is a folder, not a file';
  if (/^E[A-Z]+$/.test(code)) return messageOf(error);
  return 'it is not a database in MaxMind format (.mmdb), or it is broken; download it again, and unpack it';
}

/** Differs when the file is another one, also when it is missing. */
async function versionOf(file: string): Promise<string> {
  return stat(file).then(
    ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
    () => 'gone',
  );
}

async function read(file: string, log: Log): Promise<Reader<CityResponse>> {
  const reader = await open<CityResponse>(file);
  const { databaseType, buildEpoch } = reader.metadata;
  const facts = { file, type: databaseType, built: buildEpoch.toISOString().slice(0, 10) };
  if (KNOWS_PLACES.test(databaseType)) log.info('geoip.loaded', facts);
  else log.warn('geoip.no_places', { ...facts, message: 'This kind of database does not say where an address is.' });
  return reader;
}

function placeIn(reader: Reader<CityResponse>, ip: string): Place | undefined {
  try {
    const found = reader.get(ip);
    const country = found?.country ?? found?.registered_country;
    if (!country) return undefined;
    return {
      country: country.names?.en ?? country.iso_code,
      region: found?.subdivisions?.[0]?.names?.en ?? null,
      city: found?.city?.names?.en ?? null,
    };
  } catch {
    // The file is damaged here, or the address is invalid.
    return undefined;
  }
}
