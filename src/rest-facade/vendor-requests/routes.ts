/** Requests of vendors to the webhooks of sending servers (specification 4.13): extensions of the contract. */
import { done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { RestVendorRequestFragment } from '../../generated/operations.ts';
import { answersBody, answersPage } from '../shapes.ts';
import { restTime } from '../timestamps.ts';
import { oneVendorRequestShape, vendorRequestReplayedShape, vendorRequestShape } from './shapes.ts';

export const vendorRequestRows = [
  endpoint({
    method: 'GET',
    path: '/vendor_requests',
    access: 'admin',
    summary: 'Lists requests of vendors to the webhooks of sending servers, the newest first.',
    details: 'They are kept for 7 days. With `sending_server_uid`, `state`, `from` and `to` only some of them.',
    answers: answersPage(vendorRequestShape),
    operation: 'VendorRequests',
    variables: (input) => ({
      sendingServerUid: input.text('sending_server_uid') || undefined,
      state: input.text('state'),
      from: input.time('from'),
      to: input.time('to'),
      ...pageArguments(input),
    }),
    present: ({ vendorRequestsPage }) => page(vendorRequestsPage, presentRequest),
  }),
  endpoint({
    method: 'GET',
    path: '/vendor_requests/:uid',
    access: 'admin',
    summary: 'Shows one request of a vendor with headers and body, without credentials.',
    answers: answersBody(oneVendorRequestShape),
    operation: 'VendorRequest',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ vendorRequest: { request, query, headers, body, isBase64 } }) =>
      ok({ vendor_request: presentRequest(request), query, headers, body, is_base64: isBase64 }),
  }),
  endpoint({
    method: 'POST',
    path: '/vendor_requests/:uid/replay',
    access: 'admin',
    summary: 'Reads a request of a vendor once more, with the driver as it is now.',
    details:
      'Events that were recorded before have no effect again. The answer is 200 also when it still cannot be read: `vendor_request.fault` says why.',
    answers: answersBody(vendorRequestReplayedShape),
    operation: 'ReplayVendorRequest',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ replayVendorRequest: { request, taken, repeated } }) =>
      done((request.fault ?? null) === null ? 'The request was read once more' : 'The request still cannot be read', {
        ...{ vendor_request_uid: request.uid, vendor_request: presentRequest(request), taken, repeated },
      }),
  }),
];

function presentRequest({ uid, method, state, ...request }: RestVendorRequestFragment) {
  return {
    ...{ uid, sending_server_uid: request.serverUid, type: request.serverType },
    received_at: restTime(request.receivedAt),
    ...{ method, byte_count: request.byteCount, state, fault: request.fault ?? null },
    event_count: request.eventCount,
    replay_count: request.replayCount,
    replayed_at: restTime(request.replayedAt),
  };
}
