/** Looking at requests of vendors, and reading them once more: administrators only. */
import {
  replayVendorRequest,
  vendorRequestContent,
  vendorRequestPage,
} from '../../domain/bounces/replay-vendor-request.ts';
import { builder } from '../builder.ts';
import { COUNTED_MAX } from '../limits.ts';
import { pageArgs, pageWindow } from '../page.ts';
import {
  forAdministrators,
  ReplayedRequest,
  VendorRequestContent,
  VendorRequestPage,
  VendorRequestState,
} from './vendor-request.ts';

builder.queryField('vendorRequestsPage', (t) =>
  t.field({
    type: VendorRequestPage,
    description: `Requests of vendors by numbered pages, the newest first. \`total\` counts up to ${COUNTED_MAX}.`,
    authScopes: forAdministrators,
    args: {
      sendingServerUid: t.arg.string({ description: 'Only those about this sending server.' }),
      state: t.arg({ type: VendorRequestState, description: 'Only those in this state.' }),
      from: t.arg({ type: 'DateTime', description: 'Only those from this time on.' }),
      to: t.arg({ type: 'DateTime', description: 'Only those before this time.' }),
      ...pageArgs(),
    },
    resolve: async (_root, { sendingServerUid: serverUid, ...args }, ctx) => {
      const { page, perPage, offset } = pageWindow(args);
      const window = { offset, limit: perPage, countedMax: COUNTED_MAX };
      return { ...(await vendorRequestPage(ctx, { ...args, serverUid }, window)), page, perPage };
    },
  }),
);

builder.queryField('vendorRequest', (t) =>
  t.field({
    type: VendorRequestContent,
    description: 'One request of a vendor, with its content.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => vendorRequestContent(ctx, uid),
  }),
);

builder.mutationField('replayVendorRequest', (t) =>
  t.field({
    type: ReplayedRequest,
    description:
      'Reads a request of a vendor once more, with the driver as it is now. Events that were recorded before have no effect again.',
    authScopes: forAdministrators,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => replayVendorRequest(ctx, { uid }),
  }),
);
