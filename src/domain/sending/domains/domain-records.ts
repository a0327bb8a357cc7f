/** The DNS records of a sending domain, as its owner copies them. */
import { dkimRecord } from '../signing/dkim-keys.ts';
import type { DomainSite } from './domain-site.ts';
import type { PublicDkimKey, RecordKind, SendingDomain } from './sending-domain.ts';

export interface DomainRecord {
  readonly kind: RecordKind;
  readonly type: 'TXT' | 'CNAME';
  /** The full name, without the final dot. */
  readonly name: string;
  readonly value: string;
  /** `value`, a TXT record's in strings of at most 255 characters, for DNS forms that take no longer ones (RFC 1035 3.3.14). */
  readonly pieces: readonly string[];
  /** Without it nothing is signed. */
  readonly isRequired: boolean;
  readonly purpose: string;
}

const TXT_PIECE_MAX = 255;
const TOKEN_HOST = '_mailwright';

type Names = Pick<SendingDomain, 'name' | 'token' | 'returnPathHost' | 'trackingHost'>;

/** All records of the domain with these keys, the most important first. */
export function domainRecords(domain: Names, keys: readonly PublicDkimKey[], site: DomainSite): DomainRecord[] {
  const records = [
    txt('ownership', {
      name: ownershipName(domain.name),
      value: ownershipValue(domain.token),
      purpose: 'Proves that the domain is yours.',
    }),
    ...keys.filter(({ status }) => status !== 'retired').map((key) => dkim(domain, key)),
    // An SPF record without terms would say that nobody may send.
    ...(site.spfTerms.length === 0 ? [] : [spf(domain, site.spfTerms)]),
    txt('dmarc', {
      name: `_dmarc.${domain.name}`,
      value: `v=DMARC1; p=none; rua=mailto:postmaster@${domain.name}`,
      purpose: 'Says what to do with forged mail, and where to report. Any DMARC record that you have is fine.',
    }),
    ...(site.bounceDomain === null ? [] : [returnPath(domain, site.bounceDomain)]),
    ...(site.host === null ? [] : [tracking(domain, site.host)]),
  ];
  // The operator's own domain: `BOUNCE_DOMAIN` or the host of `BASE_URL` is this very name, and cannot be an alias of itself.
  return records.filter(({ name, value }) => name !== value);
}

export function ownershipName(domain: string): string {
  return `${TOKEN_HOST}.${domain}`;
}

export function ownershipValue(token: string): string {
  return `mailwright-verification=${token}`;
}

export function dkimName(domain: string, selector: string): string {
  return `${selector}._domainkey.${domain}`;
}

function dkim({ name }: Names, key: PublicDkimKey): DomainRecord {
  const purpose = key.status === 'new' ? 'A new key: signs as soon as this is seen.' : 'The key that signs your mail.';
  return txt('dkim', { name: dkimName(name, key.selector), value: dkimRecord(key), purpose });
}

function spf({ name }: Names, terms: readonly string[]): DomainRecord {
  const purpose =
    'Says who may send. If there is an SPF record already, add these terms to it: a domain may have only one SPF record.';
  return txt('spf', { name, value: `v=spf1 ${[...terms, '~all'].join(' ')}`, purpose });
}

function returnPath({ returnPathHost }: Names, bounceDomain: string): DomainRecord {
  const purpose = 'Sends bounces to this installation, which counts them, and makes SPF align with your domain.';
  return cname('return_path', { name: returnPathHost, value: bounceDomain, purpose });
}

function tracking({ trackingHost }: Names, host: string): DomainRecord {
  const purpose = 'Puts your host name into links and unsubscribe addresses.';
  return cname('tracking', { name: trackingHost, value: host, purpose });
}

function txt(kind: RecordKind, text: Pick<DomainRecord, 'name' | 'value' | 'purpose'>): DomainRecord {
  const starts = Array.from({ length: Math.ceil(text.value.length / TXT_PIECE_MAX) }, (_, no) => no * TXT_PIECE_MAX);
  const pieces = starts.map((start) => text.value.slice(start, start + TXT_PIECE_MAX));
  return { kind, type: 'TXT', ...text, pieces, isRequired: kind === 'ownership' || kind === 'dkim' };
}

function cname(kind: RecordKind, text: Pick<DomainRecord, 'name' | 'value' | 'purpose'>): DomainRecord {
  return { kind, type: 'CNAME', ...text, pieces: [text.value], isRequired: false };
}
