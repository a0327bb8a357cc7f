/** Verifies addresses without asking any mailbox: by their form, their domain, and lists. No mail server is contacted. */
import { domainToASCII } from 'node:url';
import {
  VerifierError,
  type DriverSettings,
  type EmailVerifier,
  type VerifiedAddress,
  type VerifierOptions,
} from '../../../src/plugin-api/index.ts';
import { disposableDomains } from './disposable-domains.ts';
import { createDomainLookup, type DomainLookup, type DomainMail } from './domain-check.ts';
import { isRole } from './role-names.ts';
import { listOf } from './settings.ts';

/** RFC 5321 4.5.3.1. */
const LOCAL_PART_BYTES_MAX = 64;
const ADDRESS_BYTES_MAX = 254;
const DOMAIN = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/;
/** An atom with dots, or a quoted text; letters outside ASCII by RFC 6531. */
const ATOMS = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const QUOTED = /^"([^"\\\p{Cc}]|\\[^\p{Cc}])+"$/u;

/** For so long answers about domains are kept from one call to the next. */
const LOOKUP_MS_MAX = 5 * 60_000;
/** Then the rest is unknown: the host ends a call after 120 seconds, and all answers of the call would be lost. */
const ANSWER_MS_MAX = 90_000;
/** A few megabytes. */
const DOMAINS_KEPT_MAX = 20_000;
/** So many domains without a single answer are no accident: it is our name server that is away. */
const DOMAINS_OF_OUTAGE = 3;

const CLOSED_NETWORK =
  'The name servers of the internet cannot be reached: those of the installation do not know its domains, not even "com". Check the DNS servers of the installation.';

/** Makes a verifier. It opens nothing until it is asked. */
export function connectAddressCheck(
  settings: DriverSettings,
  { dnsServers }: Pick<VerifierOptions, 'dnsServers'>,
  answerMsMax = ANSWER_MS_MAX,
): EmailVerifier {
  const isDisposable =
    settings['check_disposable'] === false
      ? () => false
      : disposableDomains({
          more: listOf(settings, 'disposable_domains'),
          except: listOf(settings, 'allowed_domains'),
        });
  const newLookup = () =>
    createDomainLookup({
      servers: dnsServers,
      timeoutMs: Number(settings['dns_timeout_seconds']) * 1_000,
      lookupsMax: Number(settings['lookups_max']),
    });
  let kept: { readonly lookup: DomainLookup; readonly since: number } | undefined;
  const presentLookup = () => {
    const isOld =
      kept &&
      (kept.lookup.isCancelled ||
        performance.now() - kept.since > LOOKUP_MS_MAX ||
        kept.lookup.size > DOMAINS_KEPT_MAX);
    if (!kept || isOld) kept = { lookup: newLookup(), since: performance.now() };
    return kept.lookup;
  };
  const findings = { isDisposable, isRole: settings['check_roles'] === false ? () => false : isRole };
  return {
    async verify(addresses, { signal }) {
      const lookup = presentLookup();
      const cancel = () => lookup.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
      const timer = setTimeout(cancel, answerMsMax);
      try {
        return await verifyAll(addresses, lookup, findings);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', cancel);
      }
    },
    async test() {
      const lookup = newLookup();
      const code = await lookup.reach();
      if (code !== undefined)
        return {
          ok: false,
          message: `The name server does not answer (${code}). Check the DNS servers of the installation.`,
        };
      return (await lookup.knowsInternet()) ? { ok: true } : { ok: false, message: CLOSED_NETWORK };
    },
    async close() {
      kept?.lookup.cancel();
      kept = undefined;
    },
  };
}

interface Findings {
  readonly isDisposable: (domain: string) => boolean;
  readonly isRole: (localPart: string) => boolean;
}

async function verifyAll(
  addresses: readonly string[],
  lookup: DomainLookup,
  findings: Findings,
): Promise<VerifiedAddress[]> {
  const parsed = addresses.map(parseAddress);
  const domains = [...new Set(parsed.flatMap((one) => (one ? [one.domain] : [])))];
  const mail = new Map<string, DomainMail>(
    await Promise.all(domains.map(async (domain) => [domain, await lookup.mailOf(domain)] as const)),
  );
  if (domains.length >= DOMAINS_OF_OUTAGE && domains.every((domain) => mail.get(domain) === 'failed'))
    throw new VerifierError(
      `No look-up of ${domains.length} domains was answered. Check the DNS servers of the installation.`,
    );
  // Within some companies, and behind a page that wants a login first, every domain of others is missing.
  const isSure = ![...mail.values()].includes('missing') || (await lookup.knowsInternet());
  if (!isSure && !lookup.isCancelled) throw new VerifierError(CLOSED_NETWORK);
  const mailOf = (domain: string) => {
    const found = mail.get(domain) ?? 'failed';
    return found === 'missing' && !isSure ? 'failed' : found;
  };
  return parsed.map((one) => (one ? judge(one, mailOf(one.domain), findings) : WRONG_FORM));
}

const WRONG_FORM: VerifiedAddress = { result: 'undeliverable', reasons: ['syntax'] };

function judge({ localPart, domain }: Parsed, mail: DomainMail, findings: Findings): VerifiedAddress {
  if (mail === 'missing') return { result: 'undeliverable', reasons: ['no_domain'] };
  if (mail === 'none') return { result: 'undeliverable', reasons: ['no_mail_server'] };
  const risks = [
    ...(findings.isDisposable(domain) ? ['disposable'] : []),
    ...(findings.isRole(localPart) ? ['role'] : []),
  ];
  if (mail === 'failed') return { result: 'unknown', reasons: ['dns_failed', ...risks] };
  const reasons = mail === 'address' ? [...risks, 'no_mx'] : risks;
  return { result: risks.length > 0 ? 'risky' : 'deliverable', reasons };
}

interface Parsed {
  readonly localPart: string;
  /** In ASCII and small letters. */
  readonly domain: string;
}

/** Undefined: not of the form of an address (RFC 5321, RFC 6531). A domain literal is none that mail is sent to. */
export function parseAddress(address: string): Parsed | undefined {
  const at = address.lastIndexOf('@');
  if (at < 1 || Buffer.byteLength(address) > ADDRESS_BYTES_MAX) return undefined;
  const localPart = address.slice(0, at);
  const domain = domainToASCII(address.slice(at + 1)).toLowerCase();
  if (Buffer.byteLength(localPart) > LOCAL_PART_BYTES_MAX || !DOMAIN.test(domain)) return undefined;
  return ATOMS.test(localPart) || QUOTED.test(localPart) ? { localPart, domain } : undefined;
}
