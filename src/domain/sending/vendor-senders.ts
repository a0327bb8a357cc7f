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
/** So long such an answer counts, and so long a vendor that failed to answer is not asked again. */
const MISSING_MS = 60_000;
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

interface Listed {
  readonly verified: ReadonlySet<string>;
  readonly unverified: ReadonlySet<string>;
  /** Senders that are not listed may be verified all the same. */
  readonly mayBeMore: boolean;
}

interface Known {
  /** Undefined: the vendor did not say. A later question that failed does not change it. */
  listed?: Listed | undefined;
  listedAt: number;
  /** When the last question ended. */
  askedAt: number;
  hasFailed: boolean;
  /** Everybody who wants to know waits for the same question, also when the first of them no longer does. */
  asking?: Promise<void> | undefined;
}

type RuledServer = RoutedServer & { readonly rule: SenderRule };

const answers = new WeakMap<object, Map<string, Known>>();

/** Asks the vendors of the servers that would send, where it is not known already. Never inside of a transaction: they take seconds. */
export async function askVendors(ctx: Context, question: SenderQuestion): Promise<void> {
  const servers = await ruledServers(ctx, question);
  await Promise.all(
    servers.map(async (server) => {
      const known = keptFor(ctx, server);
      if (!known.asking && isDue(known, question.email)) known.asking = ask(ctx, server, known);
      return known.asking && withinTime(known.asking);
    }),
  );
}

/** A fault for each server that would send and does not for this sender, as far as its vendor has said so. Asks nobody. */
export async function vendorSenderFaults(ctx: Context, question: SenderQuestion): Promise<SenderFault[]> {
  const { email } = question;
  const servers = await ruledServers(ctx, question);
  const refuses = (server: RuledServer): boolean => isRefused(knownOf(ctx, server), email);
  return servers
    .filter(({ weight, place }) => weight !== null || place === 1)
    .filter(refuses)
    .filter(({ type, rule }) => !rule.areShared || servers.every((other) => other.type !== type || refuses(other)))
    .map(({ name, rule }) => ({
      code: 'sender_not_verified_at_vendor' as const,
      params: {
        ...{ email, domain: asciiDomainOf(email), server: name },
        ...(rule.addresses === 'vendor' && { isAddressEnough: true as const }),
      },
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

function isDue({ listed, askedAt, hasFailed }: Known, email: string): boolean {
  const keptMs = hasFailed ? MISSING_MS : listed && isMissing(listed, email) ? REFUSED_MS : KNOWN_MS;
  return askedAt + keptMs < performance.now();
}

/** Whether the vendor has said a short while ago that it does not send for the address. */
function isRefused(known: Known | undefined, email: string): boolean {
  if (!known?.listed || known.listedAt + MISSING_MS < performance.now()) return false;
  return isMissing(known.listed, email);
}

function isMissing({ verified, unverified, mayBeMore }: Listed, email: string): boolean {
  const domain = asciiDomainOf(email);
  const labels = domain.split('.');
  // Amazon sends for labels of a verified address, and some vendors for names below a verified domain: nobody is stopped for that.
  const domains = labels.map((_label, no) => labels.slice(no).join('.'));
  const addresses = [email, withoutLabel(email)].map((address) => nameOf('email', address));
  if ([...addresses, ...domains].some((name) => verified.has(name))) return false;
  return !mayBeMore || unverified.has(domain);
}

/** `ann@example.com` of `ann+news@example.com`. */
function withoutLabel(email: string): string {
  const at = email.lastIndexOf('@');
  const label = email.indexOf('+');
  return label > 0 && label < at ? email.slice(0, label) + email.slice(at) : email;
}

/** Never rejects. */
async function ask(ctx: Context, server: RuledServer, known: Known): Promise<void> {
  try {
    known.listed = await listed(ctx, server);
    known.listedAt = performance.now();
    known.hasFailed = false;
  } catch {
    // A key that may not list them, or a vendor in trouble: the message itself will tell.
    known.hasFailed = true;
  } finally {
    known.askedAt = performance.now();
    known.asking = undefined;
  }
}

/** An answer that comes later is kept for the next one who asks. */
async function withinTime(asking: Promise<void>): Promise<void> {
  const end = new AbortController();
  const late = sleep(ASK_MS_MAX, undefined, { signal: end.signal }).catch(() => undefined);
  await Promise.race([asking, late]).finally(() => end.abort());
}

/** Undefined: the vendor does not say, or not all. */
async function listed(ctx: Context, server: RuledServer): Promise<Listed | undefined> {
  const { uid, type, settings, sealed_settings: sealedSettings, is_system: isSystem } = server;
  const identities = await openIdentities(ctx, { uid, type, settings, sealedSettings, isSystem });
  if (!identities || !showsAll(identities, server.rule)) return undefined;
  const found = await identities.list();
  if (found.length >= LISTED_MAX) return undefined;
  const namesOf = (isVerified: boolean) =>
    new Set(found.filter((one) => one.isVerified === isVerified).map(({ kind, name }) => nameOf(kind, name)));
  return { verified: namesOf(true), unverified: namesOf(false), mayBeMore: identities.hidesSome === true };
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

function keptFor(ctx: Context, server: RoutedServer): Known {
  const all = answers.get(ctx.hooks) ?? new Map<string, Known>();
  answers.set(ctx.hooks, all);
  const known = knownOf(ctx, server) ?? { listedAt: -Infinity, askedAt: -Infinity, hasFailed: false };
  const [oldest] = all.keys();
  const key = `${server.id} ${server.version}`;
  if (oldest !== undefined && all.size >= SERVERS_MAX && !all.has(key)) all.delete(oldest);
  all.set(key, known);
  return known;
}
