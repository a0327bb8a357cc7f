/**
 * Which senders are verified at the vendors of servers, as the vendors say. Asked before a campaign starts, at most every few minutes for a
 * server, never per message. A vendor that does not answer blocks nobody. Stores nothing in the database.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { asciiDomainOf } from '../../lib/mail-domain.ts';
import type { SenderRule, VendorIdentities, VendorIdentity } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { driverOfType } from './driver-of-type.ts';
import type { SenderFault } from './addresses/usable-sender.ts';
import { serversFor, type RoutedServer } from './sending-server-read-model.ts';
import { openIdentities } from './try-settings.ts';

/** Somebody waits for the start of a campaign. */
const ASK_MS_MAX = 5_000;
/** Senders are verified once and stay so for years; but one that was removed should be noticed the same day. */
const KNOWN_MS = 300_000;
/** After an answer that stops a campaign somebody verifies the sender, and starts it again at once. */
const REFUSED_MS = 10_000;
/** More servers than are used at the same time; each keeps at most 1,000 names. */
const SERVERS_MAX = 200;
/** A vendor lists no more: what is missing may be verified all the same. */
const LISTED_MAX = 1_000;

export interface SenderQuestion {
  readonly customerId: bigint;
  /** Null: mail of no campaign. */
  readonly campaignId: bigint | null;
  readonly email: string;
}

interface Known {
  readonly at: number;
  /** Undefined: the vendor did not say, or not all. */
  readonly names: ReadonlySet<string> | undefined;
}

type RuledServer = RoutedServer & { readonly rule: SenderRule };

const answers = new WeakMap<object, Map<string, Known>>();

/** Asks the vendors of the servers that would send, where it is not known already. Never inside of a transaction: they take seconds. */
export async function askVendors(ctx: Context, question: SenderQuestion): Promise<void> {
  const servers = await ruledServers(ctx, question);
  await Promise.all(
    servers.map(async (server) => {
      const known = knownOf(ctx, server);
      const keptMs = known && verdictOf(known, question.email) === 'missing' ? REFUSED_MS : KNOWN_MS;
      if (!known || known.at + keptMs < performance.now()) keep(ctx, server, await ask(ctx, server));
    }),
  );
}

/** A fault for each server that would send and does not for this sender, as far as its vendor has said so. Asks nobody. */
export async function vendorSenderFaults(ctx: Context, question: SenderQuestion): Promise<SenderFault[]> {
  const { email } = question;
  const servers = await ruledServers(ctx, question);
  const refuses = (server: RuledServer): boolean => verdictOf(knownOf(ctx, server), email) === 'missing';
  return servers
    .filter(({ weight, place }) => weight !== null || place === 1)
    .filter(refuses)
    .filter(({ type, rule }) => !rule.areShared || servers.every((other) => other.type !== type || refuses(other)))
    .map(({ name }) => ({
      code: 'sender_not_verified_at_vendor' as const,
      params: { email, domain: asciiDomainOf(email), server: name },
    }));
}

/** Servers that may send, of types for which a domain must be verified at the vendor. */
async function ruledServers(ctx: Context, { customerId, campaignId }: SenderQuestion): Promise<RuledServer[]> {
  const servers = await serversFor(ctx.db, customerId, campaignId);
  return servers.flatMap((server) => {
    const rule = driverOfType(ctx.hooks, server.type)?.senders;
    return rule?.domains === 'vendor' ? [{ ...server, rule }] : [];
  });
}

function verdictOf(known: Known | undefined, email: string): 'verified' | 'missing' | 'unknown' {
  if (!known?.names) return 'unknown';
  const { names } = known;
  const labels = asciiDomainOf(email).split('.');
  // Some vendors send for names below a verified domain, too: nobody is stopped for that.
  const domains = labels.map((_label, no) => labels.slice(no).join('.'));
  return [nameOf('email', email), ...domains].some((name) => names.has(name)) ? 'verified' : 'missing';
}

async function ask(ctx: Context, server: RuledServer): Promise<ReadonlySet<string> | undefined> {
  try {
    const { uid, type, settings, sealed_settings: sealedSettings, is_system: isSystem } = server;
    const identities = await openIdentities(ctx, { uid, type, settings, sealedSettings, isSystem });
    if (!identities || !showsAll(identities, server.rule)) return undefined;
    const end = new AbortController();
    const late = sleep(ASK_MS_MAX, undefined, { signal: end.signal }).catch(() => undefined);
    const listed = await Promise.race([identities.list(), late]).finally(() => end.abort());
    if (!listed || listed.length >= LISTED_MAX) return undefined;
    return new Set(listed.filter(({ isVerified }) => isVerified).map(({ kind, name }) => nameOf(kind, name)));
  } catch {
    // A key that may not list them, or a vendor in trouble: the message itself will tell.
    return undefined;
  }
}

function showsAll({ lists = ['domain', 'email'] }: VendorIdentities, { addresses }: SenderRule): boolean {
  return lists.includes('domain') && (addresses !== 'vendor' || lists.includes('email'));
}

function nameOf(kind: VendorIdentity['kind'], name: string): string {
  if (kind === 'domain') return asciiDomainOf(`@${name}`);
  return `${name.slice(0, name.lastIndexOf('@')).toLowerCase()}@${asciiDomainOf(name)}`;
}

function knownOf({ hooks }: Context, { id, version }: RoutedServer): Known | undefined {
  return answers.get(hooks)?.get(`${id} ${version}`);
}

function keep({ hooks }: Context, { id, version }: RoutedServer, names: Known['names']): void {
  const known = answers.get(hooks) ?? new Map<string, Known>();
  answers.set(hooks, known);
  if (known.size >= SERVERS_MAX) known.clear();
  known.set(`${id} ${version}`, { at: performance.now(), names });
}
