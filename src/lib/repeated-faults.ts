/**
 * Keeps the log readable in an outage: one line a second for the same fault, with the number of lines left out. A fault is an
 * event of level warn or error with a `message` or an `error`; it is the same when its name and its texts are equal, whichever
 * request or job it comes from. Other lines are never left out.
 */

/** The parts of a log line. */
export interface Entry {
  readonly level: string;
  readonly event: string;
  /** Of this event; not what every line of a request or job carries. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly write: (more: Readonly<Record<string, unknown>>) => void;
}

const INTERVAL_MS = 1_000;
/** Different faults that are counted in one second; further faults each have a line. */
const FAULTS_MAX = 1_000;

interface Repeated {
  leftOut: number;
  /** The latest that was left out. */
  write: Entry['write'];
}

export class RepeatedFaults {
  readonly #latest = new Map<string, Repeated>();

  /** Writes the line now, or at the end of the second together with equal ones. */
  take(entry: Entry): void {
    const key = keyOf(entry);
    if (key === undefined) return entry.write({});
    const known = this.#latest.get(key);
    if (known) {
      known.leftOut++;
      known.write = entry.write;
      return;
    }
    entry.write({});
    if (this.#latest.size < FAULTS_MAX) this.#begin(key, entry.write);
  }

  #begin(key: string, write: Entry['write']): void {
    const repeated: Repeated = { leftOut: 0, write };
    this.#latest.set(key, repeated);
    setTimeout(() => this.#end(key, repeated), INTERVAL_MS).unref();
  }

  /** The last one left out is written with the number of those before it; then a new second begins. */
  #end(key: string, { leftOut, write }: Repeated): void {
    this.#latest.delete(key);
    if (leftOut === 0) return;
    write(leftOut === 1 ? {} : { leftOut: leftOut - 1 });
    this.#begin(key, write);
  }
}

function keyOf({ level, event, fields }: Entry): string | undefined {
  const isFault = (level === 'warn' || level === 'error') && ('message' in fields || 'error' in fields);
  if (!isFault) return undefined;
  const texts = Object.entries(fields).flatMap(([name, value]) => {
    if (value instanceof Error) return [name, value.message];
    return typeof value === 'string' ? [name, value] : [];
  });
  return JSON.stringify([event, ...texts]);
}
