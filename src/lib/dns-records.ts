/**
 * DNS look-ups of other people's records: bounded in time, and a failed look-up is never taken
 * for a missing record.
 */
import { Resolver } from 'node:dns/promises';

/** `none`: asked, and there is nothing of this kind; `exists` says whether the name exists at all (RFC 8020). */
export type DnsAnswer =
  | { readonly status: 'found'; readonly values: readonly string[] }
  | { readonly status: 'none'; readonly exists: boolean }
  | { readonly status: 'failed'; readonly reason: string };

export type DnsType = 'TXT' | 'CNAME' | 'MX' | 'A' | 'AAAA';

/** Returns the records of a name: TXT strings joined, hosts in lower case without the last dot. Never throws. */
export type DnsQuery = (type: DnsType, name: string) => Promise<DnsAnswer>;

/** A query is tried twice with this timeout; people wait for the page. */
const TIMEOUT_MS = 3_000;
const TRIES = 2;
const NAME_LENGTH_MAX = 253;
/** No honest domain has more records of a kind at one name. */
const VALUES_MAX = 100;

/** Asks these servers (`192.0.2.1`, `[2001:db8::1]:53`), or those of the system when there are none. */
export function createDnsQuery(servers: readonly string[] = []): DnsQuery {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return async (type, name) => {
    if (name.length > NAME_LENGTH_MAX) return { status: 'none', exists: false };
    try {
      const values = (await resolve(resolver, type, name)).slice(0, VALUES_MAX);
      return values.length === 0 ? { status: 'none', exists: true } : { status: 'found', values };
    } catch (error) {
      return failure(error);
    }
  };
}

/** The same query for `msMax` from now; later queries fail at once, so that slow servers add up to no more. */
export function limitedDnsQuery(msMax: number, resolve: DnsQuery): DnsQuery {
  const until = performance.now() + msMax;
  return async (type, name) =>
    performance.now() < until ? resolve(type, name) : { status: 'failed', reason: 'its name servers are too slow' };
}

async function resolve(resolver: Resolver, type: DnsType, name: string): Promise<string[]> {
  switch (type) {
    case 'TXT':
      return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''));
    case 'CNAME':
      return (await resolver.resolveCname(name)).map(plainHost);
    case 'MX':
      return (await resolver.resolveMx(name))
        .toSorted((a, b) => a.priority - b.priority)
        .map(({ exchange }) => plainHost(exchange));
    case 'A':
      return resolver.resolve4(name);
    case 'AAAA':
      return resolver.resolve6(name);
  }
}

function plainHost(host: string): string {
  return host.replace(/\.$/, '').toLowerCase();
}

function failure(error: unknown): DnsAnswer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'EUNKNOWN';
  if (code === 'ENOTFOUND') return { status: 'none', exists: false };
  if (code === 'ENODATA') return { status: 'none', exists: true };
  return { status: 'failed', reason: REASONS[code] ?? `the look-up failed (${code})` };
}

const REASONS: Readonly<Record<string, string>> = {
  ESERVFAIL: 'the name server could not answer (SERVFAIL)',
  ETIMEOUT: 'the name server did not answer in time',
  ECONNREFUSED: 'the name server cannot be reached',
  EREFUSED: 'the name server refused to answer',
};
