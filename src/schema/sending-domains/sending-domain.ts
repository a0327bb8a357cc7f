/** A sending domain as its owner sees it: the records to publish, what was found of them, its public keys. */
import { siteForCustomer, type DomainSite } from '../../domain/sending/domains/domain-site.ts';
import { domainChecks, publicKeyOf, type DomainChecks } from '../../domain/sending/domains/sending-domain.ts';
import { shownRecords, type ShownRecord } from '../../domain/sending/domains/shown-records.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import {
  DkimKeyStatus,
  DmarcAlignment,
  DmarcPolicy,
  DnsRecordKind,
  DnsRecordStatus,
  DnsRecordType,
  SendingDomainStatus,
} from '../enums.ts';
import { loadBy } from '../loaders/load-by.ts';

/** A domain has two keys, four during a rotation. */
const ORDERED = { orderBy: { id: 'asc' } } as const;
const reading = { scope: 'sending-domains:read' } as const;

function readSites(ctx: GraphqlContext, customerIds: readonly bigint[]): Promise<DomainSite[]> {
  return Promise.all(customerIds.map((customerId) => siteForCustomer(ctx, customerId)));
}

const SendingDomainRecord = builder.objectRef<ShownRecord>('SendingDomainRecord').implement({
  description: 'A DNS record to publish, and what the last check found of it.',
  authScopes: reading,
  fields: (t) => ({
    kind: t.expose('kind', {
      type: DnsRecordKind,
      description: '`ownership`, `dkim`, `spf`, `dmarc`, `return_path` or `tracking`.',
    }),
    type: t.expose('type', { type: DnsRecordType, description: '`TXT` or `CNAME`.' }),
    name: t.exposeString('name', { description: 'The whole name, without a dot at its end.' }),
    value: t.exposeString('value'),
    pieces: t.stringList({
      description: 'The value in pieces of at most 255 characters, for name servers that want them so.',
      resolve: ({ pieces }) => [...pieces],
    }),
    isRequired: t.exposeBoolean('isRequired', { description: 'Without it nothing is signed.' }),
    purpose: t.exposeString('purpose'),
    status: t.expose('status', { type: DnsRecordStatus, description: '`unknown`, `verified`, `missing` or `wrong`.' }),
    seen: t.stringList({ description: 'The records that were found in the DNS.', resolve: ({ seen }) => [...seen] }),
    problems: t.stringList({
      description: 'What must be corrected, one sentence each.',
      resolve: ({ problems }) => [...problems],
    }),
  }),
});

const SendingDomainDmarc = builder.objectRef<NonNullable<DomainChecks['dmarc']>>('SendingDomainDmarc').implement({
  description: 'DMARC of the domain as receivers find it (RFC 9989).',
  authScopes: reading,
  fields: (t) => ({
    foundAt: t.exposeString('foundAt', {
      nullable: true,
      description: 'The DNS name at which the DMARC record was found.',
    }),
    record: t.exposeString('record', { nullable: true }),
    policy: t.expose('policy', {
      type: DmarcPolicy,
      nullable: true,
      description: '`none`, `quarantine` or `reject`, for mail of this very domain, testing taken into account.',
    }),
    organizationalDomain: t.exposeString('organizationalDomain'),
    dkimAlignment: t.expose('dkimAlignment', { type: DmarcAlignment, description: '`relaxed` or `strict`.' }),
    spfAlignment: t.expose('spfAlignment', { type: DmarcAlignment }),
  }),
});

builder.prismaObject('DkimKey', {
  authScopes: reading,
  description: 'A key that signs; its private half is never answered.',
  fields: (t) => ({
    selector: t.exposeString('selector'),
    algorithm: t.exposeString('algorithm', { description: '`rsa-sha256` or `ed25519-sha256`.' }),
    status: t.expose('status', {
      type: DkimKeyStatus,
      description: '`new`: waits for its record. `active`: signs. `retired`: its record must stay for a week.',
    }),
    missingSince: t.expose('missingSince', { type: 'DateTime', nullable: true }),
    retiredAt: t.expose('retiredAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

export const SendingDomain = builder.prismaObject('SendingDomain', {
  authScopes: reading,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    status: t.expose('status', {
      type: SendingDomainStatus,
      description:
        '`pending`: never proved. `verified`. `failing`: a needed record is gone; mail is signed for three days more. `lost`: it did not come back, or another customer has proved the domain.',
    }),
    isDefault: t.exposeBoolean('isDefault', {
      description: 'Signs for customers whose sender has no verified domain.',
    }),
    usesEd25519: t.exposeBoolean('usesEd25519', { description: 'Signs with Ed25519 beside RSA.' }),
    returnPathHost: t.exposeString('returnPathHost'),
    returnPathReady: t.exposeBoolean('returnPathReady', { description: 'Bounces go to the return-path host.' }),
    trackingHost: t.exposeString('trackingHost'),
    trackingUrl: t.string({
      nullable: true,
      select: { trackingUrl: true },
      description: 'Where links of mails lead; null: to the address of the installation.',
      resolve: ({ trackingUrl }) => (trackingUrl === '' ? null : trackingUrl),
    }),
    records: t.field({
      type: [SendingDomainRecord],
      select: {
        ...{ customerId: true, name: true, token: true, returnPathHost: true, trackingHost: true },
        ...{ checks: true, dkimKeys: ORDERED },
      },
      description:
        'What to publish. Records of the return-path are left out where all vendors take bounces themselves.',
      resolve: async (domain, _args, ctx) =>
        shownRecords(domain, domain.dkimKeys.map(publicKeyOf), await loadBy(ctx, readSites).load(domain.customerId)),
    }),
    dkimKeys: t.relation('dkimKeys', { query: ORDERED }),
    spfLookups: t.int({
      nullable: true,
      select: { checks: true },
      description: 'Number of DNS look-ups that the SPF record needs; receiving servers allow ten.',
      resolve: ({ checks }) => domainChecks.parse(checks).spfLookups,
    }),
    dmarc: t.field({
      type: SendingDomainDmarc,
      nullable: true,
      select: { checks: true },
      resolve: ({ checks }) => domainChecks.parse(checks).dmarc,
    }),
    checkedAt: t.expose('checkedAt', { type: 'DateTime', nullable: true }),
    nextCheckAt: t.expose('nextCheckAt', { type: 'DateTime', nullable: true }),
    verifiedAt: t.expose('verifiedAt', { type: 'DateTime', nullable: true }),
    failingSince: t.expose('failingSince', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});
