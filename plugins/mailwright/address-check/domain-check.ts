/**
 * Whether a domain takes mail, by DNS: its MX records, else its addresses (RFC 5321 5.1); a null MX says that it takes none (RFC 7505). A
 * look-up that failed says nothing about the domain.
 */
import { Resolver } from 'node:dns/promises';

/**
 * `mx`, `address`: it takes mail, by MX records or by its own address. `none`: it exists and takes none. `missing`: there is no such
 * domain. `failed`: the look-up did.
 */
export type DomainMail = 'mx' | 'address' | 'none' | 'missing' | 'failed';

export interface DomainLookupOptions {
  readonly servers: readonly string[];
  readonly timeoutMs: number;
  readonly lookupsMax: number;
}

export interface DomainLookup {
  /** Never throws. Each domain is looked up once, and again after a failure. */
  mailOf(domain: string): Promise<DomainMail>;
  /** Whether the name servers know the domains of the internet: only then is one that they do not know missing. */
  knowsInternet(): Promise<boolean>;
  /** Whether a name server answers; the code of the fault otherwise. */
  reach(): Promise<string | undefined>;
  /** How many domains it knows. */
  readonly size: number;
  /** Ends look-ups, those that have not begun among them: all of them have failed. It can be used no more. */
  cancel(): void;
  readonly isCancelled: boolean;
}

const TRIES = 2;
/** A domain with more mail servers is checked by the preferred ones. */
const MAIL_SERVERS_TRIED = 3;
/** Everybody's name servers know who serves it. */
const KNOWN_NAME = 'com';

/** One resolver and one cache; make a new one now and then, so that no answer grows old. A look-up that failed is not kept. */
export function createDomainLookup({ servers, timeoutMs, lookupsMax }: DomainLookupOptions): DomainLookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  const inPlace = places(lookupsMax);
  let isCancelled = false;
  /** `cancel` of a resolver ends what is under way: a domain takes several questions, and the next ones must not be asked. */
  const askInTime: Ask = async (look) => (isCancelled ? CANCELLED : ask(look));
  const known = new Map<string, Promise<DomainMail>>();
  let knows = false;
  const hosts = new Map<string, Promise<Answer>>();
  const hostAnswer = (host: string) =>
    remembered(
      hosts,
      host,
      () => addressOf(resolver, host, askInTime),
      ({ status }) => status === 'failed',
    );
  const look = async (domain: string): Promise<DomainMail> => {
    const mx = await askInTime(() => resolver.resolveMx(domain));
    if (mx.status === 'failed') return 'failed';
    if (mx.status === 'missing') return 'missing';
    if (mx.status === 'none') return BY_ADDRESS[(await hostAnswer(domain)).status];
    const exchanges = mx.values.toSorted((a, b) => a.priority - b.priority).map(({ exchange }) => plain(exchange));
    if (exchanges.every((exchange) => exchange === '')) return 'none';
    return anyReachable(exchanges.slice(0, MAIL_SERVERS_TRIED), hostAnswer);
  };
  return {
    mailOf: (domain) =>
      remembered(
        known,
        domain,
        // A domain keeps its place to the end: when time runs out, some are done.
        () => inPlace(() => (isCancelled ? Promise.resolve('failed') : look(domain))),
        (mail) => mail === 'failed',
      ),
    get size() {
      return known.size;
    },
    async knowsInternet() {
      knows ||= (await askInTime(() => resolver.resolveNs(KNOWN_NAME))).status === 'found';
      return knows;
    },
    async reach() {
      const answer = await askInTime(() => resolver.resolveNs(KNOWN_NAME));
      return answer.status === 'failed' ? answer.code : undefined;
    },
    cancel() {
      isCancelled = true;
      resolver.cancel();
    },
    get isCancelled() {
      return isCancelled;
    },
  };
}

const BY_ADDRESS = { found: 'address', none: 'none', missing: 'missing', failed: 'failed' } as const;

type Answer<Value = unknown> =
  | { readonly status: 'found'; readonly values: readonly Value[] }
  | { readonly status: 'none' }
  | { readonly status: 'missing' }
  | { readonly status: 'failed'; readonly code: string };

type Ask = <Value>(look: () => Promise<readonly Value[]>) => Promise<Answer<Value>>;

/** Also of a question that c-ares cancels. */
const CANCELLED = { status: 'failed', code: 'ECANCELLED' } as const;

/** One of the mail servers has an address. All without one: no mail arrives; a look-up that failed leaves it open. */
async function anyReachable(
  exchanges: readonly string[],
  hostAnswer: (host: string) => Promise<Answer>,
): Promise<DomainMail> {
  let hasFailed = false;
  for (const exchange of exchanges) {
    const { status } = await hostAnswer(exchange);
    if (status === 'found') return 'mx';
    if (status === 'failed') hasFailed = true;
  }
  return hasFailed ? 'failed' : 'none';
}

async function addressOf(resolver: Resolver, host: string, askInTime: Ask): Promise<Answer> {
  const v4 = await askInTime(() => resolver.resolve4(host));
  if (v4.status === 'found' || v4.status === 'missing') return v4;
  const v6 = await askInTime(() => resolver.resolve6(host));
  return v6.status === 'none' ? v4 : v6;
}

/** Codes of c-ares: no such name, and no record of this kind. */
async function ask<Value>(look: () => Promise<readonly Value[]>): Promise<Answer<Value>> {
  try {
    const values = await look();
    return values.length > 0 ? { status: 'found', values } : { status: 'none' };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'EUNKNOWN';
    if (code === 'ENOTFOUND' || code === 'EBADNAME') return { status: 'missing' };
    return code === 'ENODATA' ? { status: 'none' } : { status: 'failed', code };
  }
}

/** RFC 7505: the exchange of a null MX is the root, which some libraries write as a dot. */
function plain(exchange: string): string {
  return exchange.replace(/\.$/, '').toLowerCase();
}

function remembered<Value>(
  cache: Map<string, Promise<Value>>,
  key: string,
  make: () => Promise<Value>,
  isFailure: (value: Value) => boolean,
): Promise<Value> {
  const kept = cache.get(key);
  if (kept) return kept;
  const made = make().then((value) => {
    if (isFailure(value)) cache.delete(key);
    return value;
  });
  cache.set(key, made);
  return made;
}

/** Runs so many at once; the others wait in order. */
function places(max: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let free = max;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
