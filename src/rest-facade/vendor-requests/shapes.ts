/** What the rows of vendors' requests answer. */
import { z } from 'zod';
import { actionShape, countShape, timeShape, uidShape } from '../shapes.ts';

export const vendorRequestShape = z
  .strictObject({
    uid: uidShape,
    sending_server_uid: uidShape,
    type: z.string().meta({ description: 'The type of the sending server.' }),
    received_at: timeShape,
    method: z.string(),
    byte_count: countShape.meta({ description: 'Bytes of the body.' }),
    state: z.string().meta({ description: '`read` or `unreadable`.' }),
    fault: z.string().nullable().meta({ description: 'Why it could not be read.' }),
    event_count: countShape,
    replay_count: countShape,
    replayed_at: timeShape.nullable(),
  })
  .meta({ id: 'VendorRequest' });

const textsShape = z.record(z.string(), z.unknown());

export const oneVendorRequestShape = z.strictObject({
  vendor_request: vendorRequestShape,
  query: textsShape,
  headers: textsShape.meta({ description: 'Without those about the connection. Credentials are `(hidden)`.' }),
  body: z.string(),
  is_base64: z.boolean().meta({ description: 'The body is no text, and is shown in base64.' }),
});

export const vendorRequestReplayedShape = actionShape({
  vendor_request_uid: uidShape,
  vendor_request: vendorRequestShape,
  taken: countShape.meta({ description: 'Events that had not been recorded before.' }),
  repeated: countShape.meta({ description: 'Events that had been: they have no effect again.' }),
});
