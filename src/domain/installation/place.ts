/**
 * Where the database is, and how a restored backup differs from a database that was only stopped: pure rules. A restored backup
 * would send again what was sent since it was made, so uncertain cases are put on hold; ordinary restarts, new versions, new
 * containers and the failover of a running installation are not.
 */

/** The place at which a process starts, as the process sees it. */
export interface Place {
  /** Object ids of the database and some tables: a loaded dump gets others. */
  readonly marks: string;
  /** Rises when a copy of the files is recovered to a point in time, or a standby takes over. Null: not readable. */
  readonly timeline: number | null;
  /** Host, port and name in DATABASE_URL; null: the embedded database. */
  readonly address: string | null;
  /** A file of the embedded database that is never rewritten: a copy is another file. Null: not embedded. */
  readonly file: string | null;
}

/** The places that the database has recorded. */
export interface KnownPlace {
  readonly marks: string;
  readonly timeline: number | null;
  readonly addresses: readonly string[];
  readonly files: readonly string[];
}

export interface Arrival {
  readonly place: Place;
  readonly known: KnownPlace;
  /** Since the last heartbeat of any process in the database, by its own clock. */
  readonly silentSeconds: number;
  /** How far this machine's record is ahead of the database: it has seen heartbeats that are not there. */
  readonly aheadSeconds: number;
}

/** How long a failover, a restart or a new version may take without a hold. */
export const SILENT_SECONDS_MAX = 600;
const KNOWN_MAX = 20;

/** Why this is probably a restored backup, as a sentence; null: it is not. */
export function restoreReasonOf({ place, known, silentSeconds, aheadSeconds }: Arrival): string | null {
  if (place.marks !== known.marks) return 'The database was loaded from a dump.';
  if (aheadSeconds > SILENT_SECONDS_MAX)
    return `The database is ${duration(aheadSeconds)} older than what this machine has already seen of it.`;
  if (place.file !== null && known.files.length > 0 && !known.files.includes(place.file))
    return 'The files of the embedded database are a copy.';
  if (silentSeconds <= SILENT_SECONDS_MAX) return null;
  const silence = `no process has used it for ${duration(silentSeconds)}`;
  if (place.timeline !== null && known.timeline !== null && place.timeline !== known.timeline)
    return `The database was recovered to a point in time, and ${silence}.`;
  if (place.address !== null && known.addresses.length > 0 && !known.addresses.includes(place.address))
    return `The database has a new address, and ${silence}.`;
  return null;
}

/** The place to be recorded from now on. */
export function remembered(place: Place, known?: KnownPlace): KnownPlace {
  return {
    marks: place.marks,
    timeline: place.timeline,
    addresses: added(known?.addresses ?? [], place.address),
    files: added(known?.files ?? [], place.file),
  };
}

function added(list: readonly string[], one: string | null): readonly string[] {
  return one === null || list.includes(one) ? list : [...list, one].slice(-KNOWN_MAX);
}

function duration(seconds: number): string {
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} hours` : `${Math.round(seconds / 86_400)} days`;
}
