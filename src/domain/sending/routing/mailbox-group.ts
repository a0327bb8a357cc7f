/**
 * The provider behind a recipient's domain: a provider's name, else the domain itself. Known providers are in the data; domains
 * hosted by one are recognised by their MX, queried in the background, limited and cached. Nothing here decides who may go.
 */
import type { DnsQuery } from '../../../lib/dns-records.ts';
import { mailboxProviders } from './mailbox-providers.ts';

/** Asks a domain's MX host names. */
export type ResolveMx = (domain: string) => Promise<readonly string[]>;

export interface MailboxGroups {
  /** The group of a domain, by what is known now. */
  groupOf(domain: string): string;
  /** Looks up the MX of unknown domains; resolves when they are known, or when it took too long. */
  learn(domains: Iterable<string>): Promise<void>;
}

/** Domains cached in one process: a few megabytes. */
const KNOWN_MAX = 20_000;
/** A domain rarely changes its provider; a wrong answer is gone by then, too. */
const KNOWN_MS = 6 * 3_600_000;
/** A resolver is shared with everything else on the machine. */
const LOOKUPS_AT_ONCE = 16;
/** Further unknown domains are looked up in the next windows. */
const LEARNED_AT_ONCE_MAX = 200;
/** Mail does not wait for a slow name server: the domain is then its own group for a while. */
const LOOKUP_TIMEOUT_MS = 2_000;

const providerByDomain = new Map(
  mailboxProviders.flatMap(({ name, domains }) => domains.map((domain) => [domain, name])),
);
const providerByEnding = mailboxProviders.flatMap(({ name, mxEndings }) =>
  mxEndings.map((ending) => [ending, name] as const),
);
const providerNames: ReadonlySet<string> = new Set(mailboxProviders.map(({ name }) => name));

/** The group by the data alone: a provider for its name and its domains, else the domain in lower case. */
export function knownGroup(name: string): string {
  const lower = name.toLowerCase();
  return providerNames.has(lower) ? lower : (providerByDomain.get(lower) ?? lower);
}

/** The provider that these MX hosts belong to. */
export function providerOfMx(hosts: readonly string[]): string | undefined {
  for (const host of hosts) {
    const name = `.${host.toLowerCase().replace(/\.$/, '')}`;
    const found = providerByEnding.find(([ending]) => name.endsWith(ending));
    if (found) return found[1];
  }
  return undefined;
}

/** Groups with their own cache. Without a resolver only the data is used. */
export function createMailboxGroups(resolveMx: ResolveMx | undefined): MailboxGroups {
  const known = new Map<string, { group: string; until: number }>();
  const remembered = (domain: string): string | undefined => {
    const entry = known.get(domain);
    return entry && entry.until > performance.now() ? entry.group : undefined;
  };
  const remember = (domain: string, group: string): void => {
    known.delete(domain);
    known.set(domain, { group, until: performance.now() + KNOWN_MS });
    const [oldest] = known.keys();
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
  };
  const learnOne = async (domain: string, resolve: ResolveMx): Promise<void> => {
    const hosts = await resolve(domain).catch(() => []);
    remember(domain, providerOfMx(hosts) ?? domain);
  };
  return {
    groupOf(domain) {
      const group = knownGroup(domain);
      return resolveMx && group === domain.toLowerCase() ? (remembered(group) ?? group) : group;
    },
    async learn(domains) {
      if (!resolveMx) return;
      const unknown = [...new Set([...domains].map((domain) => domain.toLowerCase()))]
        .filter((domain) => knownGroup(domain) === domain && remembered(domain) === undefined)
        .slice(0, LEARNED_AT_ONCE_MAX);
      if (unknown.length === 0) return;
      const next = unknown.values();
      const worker = async (): Promise<void> => {
        for (const domain of next) await learnOne(domain, resolveMx);
      };
      await withinTime(Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, worker)));
    },
  };
}

/** A resolver over this DNS query; a name server without an answer gives none. */
export function mxThrough(ask: DnsQuery): ResolveMx {
  return async (domain) => {
    const answer = await ask('MX', domain);
    return answer.status === 'found' ? answer.values : [];
  };
}

async function withinTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LOOKUP_TIMEOUT_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
