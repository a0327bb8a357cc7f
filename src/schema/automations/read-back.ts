/** Reads an automation that a mutation has written. */
import { viewerOf } from '../../domain/context.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import type { GraphqlContext } from '../context.ts';

type Query = Pick<Prisma.AutomationFindUniqueOrThrowArgs, 'include' | 'select'>;

/** What was written, as the database has it now. */
export function readBack<Asked extends Query>(ctx: GraphqlContext, query: Asked, { uid }: { uid: string }) {
  const { customerId } = viewerOf(ctx);
  return ctx.prisma.automation.findUniqueOrThrow({ ...query, where: { customerId_uid: { customerId, uid } } });
}
