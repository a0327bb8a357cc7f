/** What a mutation wrote, as the database has it now. */
import { viewerOf } from '../../domain/context.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import type { GraphqlContext } from '../context.ts';

type Query = Pick<Prisma.CampaignFindUniqueOrThrowArgs, 'include' | 'select'>;

/** The viewer's campaign with the requested fields. */
export function readBack<Asked extends Query>(ctx: GraphqlContext, query: Asked, { uid }: { uid: string }) {
  const { customerId } = viewerOf(ctx);
  return ctx.prisma.campaign.findUniqueOrThrow({ ...query, where: { customerId_uid: { customerId, uid } } });
}
