/** How bounces of a sending server come back. */
import { bounceRouteOf, bounceWarning, type BounceRoute } from '../../domain/sending/bounce-route.ts';
import { driverOfType } from '../../domain/sending/driver-of-type.ts';
import { reportedServers } from '../../domain/sending/sending-server-read-model.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { SendingServer, SendingServerType } from './sending-server.ts';

const BounceRouteType = builder.enumType('SendingServerBounceRoute', {
  description: 'How bounces of what was sent through a server come back.',
  values: {
    MAIL: { value: 'mail', description: "By mail to the return-path, or else to the sender's address." },
    REPORTS: { value: 'reports', description: 'The vendor takes them, and reports them to `webhookUrl`.' },
  } as const satisfies Record<string, { value: BounceRoute; description: string }>,
});

async function readReported(ctx: GraphqlContext, ids: readonly bigint[]): Promise<boolean[]> {
  const reported = await reportedServers(ctx.db, ids);
  return ids.map((id) => reported.has(id));
}

builder.prismaObjectFields(SendingServer, (t) => ({
  bouncesComeBy: t.field({
    type: BounceRouteType,
    nullable: true,
    description: 'How bounces come back. Null: no active plugin provides its type.',
    select: { type: true },
    resolve: ({ type }, _args, ctx) => bounceRouteOf(driverOfType(ctx.hooks, type)),
  }),
  bounceWarning: t.string({
    nullable: true,
    description:
      'Why bounces may be lost, and what to do: the vendor takes them, and has reported nothing. Null: all is well.',
    select: { id: true, uid: true, type: true, settings: true, sealedSettings: true },
    resolve: async (server, _args, ctx) =>
      bounceWarning(ctx, server, { hasReported: () => loadBy(ctx, readReported).load(server.id) }),
  }),
}));

builder.objectField(SendingServerType, 'bouncesComeBy', (t) =>
  t.field({
    type: BounceRouteType,
    description: 'How bounces come back.',
    resolve: ({ replacesReturnPath }) => (replacesReturnPath === true ? ('reports' as const) : ('mail' as const)),
  }),
);
