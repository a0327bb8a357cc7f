/** The senders of a sending server's account at its vendor. */
import {
  addServerIdentity,
  addServerIdentityInput,
  checkServerIdentity,
  listServerIdentities,
  serverIdentityInput,
} from '../../domain/sending/server-identities.ts';
import type { VendorDnsRecord, VendorIdentity } from '../../plugin-api/index.ts';
import { builder } from '../builder.ts';

const reading = { scope: 'sending-servers:read' } as const;
const writing = { scope: 'sending-servers:write' } as const;

const IdentityKind = builder.enumType('SendingServerIdentityKind', {
  description: 'What a vendor verifies as a sender.',
  values: {
    DOMAIN: { value: 'domain', description: 'All addresses of a domain.' },
    EMAIL: { value: 'email', description: 'One address.' },
  } as const,
});

const RecordType = builder.enumType('SendingServerIdentityRecordType', {
  description: 'Types of records of the DNS that vendors ask for.',
  values: {
    CNAME: { description: 'Another name for a host.' },
    TXT: { description: 'A text.' },
    MX: { description: 'The host that takes mail.' },
  } as const,
});

const VendorRecord = builder.objectRef<VendorDnsRecord>('SendingServerIdentityRecord').implement({
  description: 'A record of the DNS that the vendor asks for.',
  authScopes: reading,
  fields: (t) => ({
    type: t.field({ type: RecordType, resolve: ({ type }) => type }),
    name: t.exposeString('name'),
    value: t.exposeString('value'),
    isFound: t.exposeBoolean('isFound', { nullable: true, description: 'Null: the vendor does not say.' }),
  }),
});

const Identity = builder.objectRef<VendorIdentity>('SendingServerIdentity').implement({
  description: 'A domain or an address that the vendor knows as a sender of the account.',
  authScopes: reading,
  fields: (t) => ({
    kind: t.field({ type: IdentityKind, resolve: ({ kind }) => kind }),
    name: t.exposeString('name'),
    isVerified: t.exposeBoolean('isVerified', { description: 'Whether the vendor sends mail of it.' }),
    status: t.exposeString('status', { description: "The vendor's own word." }),
    records: t.field({ type: [VendorRecord], resolve: ({ records }) => [...records] }),
  }),
});

builder.queryField('sendingServerIdentities', (t) =>
  t.field({
    type: [Identity],
    description: 'Asks the vendor of a server for the senders of the account. At most 60 such requests in an hour.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (_root, { uid }, ctx) => [...(await listServerIdentities(ctx, { uid }))],
  }),
);

const changing = { type: Identity, authScopes: writing, typeOptions: { checks: serverIdentityInput.shape } } as const;

builder.mutationField('addSendingServerIdentity', (t) =>
  t.fieldWithInput({
    ...changing,
    typeOptions: { checks: addServerIdentityInput.shape },
    description:
      'Adds a sender to the account at the vendor. For a domain the answer has the records to publish; an address gets a mail from the vendor.',
    input: {
      uid: t.input.string({ required: true, description: 'Of the server.' }),
      kind: t.input.field({ type: IdentityKind, required: true }),
      name: t.input.string({ required: true, description: 'A domain name or an address.' }),
      mailSubject: t.input.string({
        description:
          "The mail to an address in your own words; the vendor adds the link at its end. With it `mailHtml` and both pages are needed. Absent: the vendor's own mail.",
      }),
      mailHtml: t.input.string(),
      mailFromEmail: t.input.string({ description: "A verified sender of the account; absent: the server's default." }),
      mailSuccessUrl: t.input.string({
        description: 'The page that the reader comes to when the address is verified.',
      }),
      mailFailureUrl: t.input.string({ description: 'The same when it could not be verified.' }),
    },
    resolve: (_root, { input }, ctx) => addServerIdentity(ctx, input),
  }),
);

builder.mutationField('checkSendingServerIdentity', (t) =>
  t.fieldWithInput({
    ...changing,
    description: 'Asks the vendor to look for the records of a sender again.',
    input: {
      uid: t.input.string({ required: true, description: 'Of the server.' }),
      kind: t.input.field({ type: IdentityKind, required: true }),
      name: t.input.string({ required: true, description: 'A domain name or an address.' }),
    },
    resolve: (_root, { input }, ctx) => checkServerIdentity(ctx, input),
  }),
);
