/** Requests of vendors to `/webhook/{type}/{uid}`: administrators only. */
import type {
  ReplayedVendorRequest,
  VendorRequestContent as Content,
} from '../../domain/bounces/replay-vendor-request.ts';
import type {
  VendorRequest as Row,
  VendorRequestState as State,
} from '../../domain/bounces/vendor-request-read-model.ts';
import { builder } from '../builder.ts';
import { definePage } from '../page.ts';

export const forAdministrators = { admin: true } as const;

export const VendorRequestState = builder.enumType('VendorRequestState', {
  description: 'Whether a vendor’s request could be read.',
  values: {
    read: { description: 'Its events were taken.' },
    unreadable: { description: 'The driver could not read it; `fault` says why.' },
  } satisfies Record<State, object>,
});

export const VendorRequest = builder.objectRef<Row>('VendorRequest').implement({
  description: 'A request of a vendor to the webhook of a sending server. It was genuine, and is kept for 7 days.',
  authScopes: forAdministrators,
  fields: (t) => ({
    uid: t.exposeString('uid'),
    serverUid: t.exposeString('serverUid', { description: 'The sending server.' }),
    serverType: t.exposeString('type', { description: 'Its type.' }),
    receivedAt: t.expose('receivedAt', { type: 'DateTime' }),
    method: t.exposeString('method'),
    byteCount: t.exposeInt('byteCount', { description: 'Bytes of the body.' }),
    state: t.field({ type: VendorRequestState, resolve: ({ fault }) => (fault === null ? 'read' : 'unreadable') }),
    fault: t.exposeString('fault', { nullable: true, description: 'Why it could not be read; null: it could.' }),
    eventCount: t.exposeInt('eventCount', {
      description: 'Events about messages in it, without those that are ignored.',
    }),
    replayCount: t.exposeInt('replayCount', { description: 'How often it was read once more.' }),
    replayedAt: t.expose('replayedAt', { type: 'DateTime', nullable: true }),
  }),
});

export const VendorRequestContent = builder.objectRef<Content>('VendorRequestContent').implement({
  description: 'What was in a vendor’s request. Credentials are shown as `(hidden)`.',
  authScopes: forAdministrators,
  fields: (t) => ({
    request: t.field({ type: VendorRequest, resolve: ({ request }) => request }),
    query: t.field({ type: 'JsonObject', resolve: ({ query }) => query }),
    headers: t.field({
      type: 'JsonObject',
      description: 'Without those about the connection; names in small letters.',
      resolve: ({ headers }) => headers,
    }),
    body: t.exposeString('body'),
    isBase64: t.exposeBoolean('isBase64', { description: 'The body is no text, and is shown in base64.' }),
  }),
});

export const VendorRequestPage = definePage('VendorRequestPage', VendorRequest, 'admin');

export const ReplayedRequest = builder.objectRef<ReplayedVendorRequest>('ReplayedVendorRequest').implement({
  description: 'A vendor’s request that was read once more.',
  authScopes: forAdministrators,
  fields: (t) => ({
    request: t.field({ type: VendorRequest, resolve: ({ request }) => request }),
    taken: t.exposeInt('taken', { description: 'Events that had not been recorded before.' }),
    repeated: t.exposeInt('repeated', { description: 'Events that had been: they have no effect again.' }),
  }),
});
