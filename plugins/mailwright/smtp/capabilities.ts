/** The extensions that a server offers in its answer to EHLO, as far as this client uses them. */
import type { Reply } from './reply.ts';

export interface Capabilities {
  readonly pipelining: boolean;
  readonly chunking: boolean;
  /** Largest message in bytes (RFC 1870), 0 when it names no limit; undefined when it knows no sizes. */
  readonly sizeMax: number | undefined;
  readonly smtputf8: boolean;
  readonly eightBitMime: boolean;
  readonly starttls: boolean;
  /** Login mechanisms, in capitals. */
  readonly auth: ReadonlySet<string>;
}

/** A server of RFC 821 (HELO) has none of these. */
export const NO_CAPABILITIES: Capabilities = {
  pipelining: false,
  chunking: false,
  sizeMax: undefined,
  smtputf8: false,
  eightBitMime: false,
  starttls: false,
  auth: new Set(),
};

/** Reads the answer to EHLO: its first line is the greeting, each other line one keyword with parameters. */
export function capabilitiesOf(ehlo: Reply): Capabilities {
  const offered = new Map<string, readonly string[]>();
  for (const line of ehlo.lines().slice(1)) {
    // `AUTH=LOGIN` is how servers older than RFC 4954 wrote it
    const [keyword = '', ...parameters] = line
      .toUpperCase()
      .replace(/^AUTH=/, 'AUTH ')
      .split(/\s+/);
    offered.set(keyword, [...(offered.get(keyword) ?? []), ...parameters]);
  }
  return {
    pipelining: offered.has('PIPELINING'),
    chunking: offered.has('CHUNKING'),
    sizeMax: sizeOf(offered.get('SIZE')),
    smtputf8: offered.has('SMTPUTF8'),
    eightBitMime: offered.has('8BITMIME'),
    starttls: offered.has('STARTTLS'),
    auth: new Set(offered.get('AUTH')),
  };
}

/** A value that is no number means no limit. */
function sizeOf(parameters: readonly string[] | undefined): number | undefined {
  if (parameters === undefined) return undefined;
  const size = Number(parameters[0] ?? 0);
  return Number.isSafeInteger(size) && size > 0 ? size : 0;
}
