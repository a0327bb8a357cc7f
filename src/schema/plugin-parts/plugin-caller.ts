/** What a plugin's resolvers learn of the caller. */
import type { GraphqlCaller } from '../../plugin-api/index.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';

const NOBODY: GraphqlCaller = Object.freeze({ viewer: null });

/** The caller of this request; one who is refused everything is nobody. */
export async function pluginCallerOf(ctx: GraphqlContext): Promise<GraphqlCaller> {
  const { viewer } = ctx;
  if (!viewer || viewer.refusal !== undefined) return NOBODY;
  const { userUid, isAdmin } = viewer;
  const customerUid = await loadBy(ctx, readCustomerUids).load(viewer.customerId);
  return Object.freeze({ viewer: Object.freeze({ customerUid, userUid, isAdmin }) });
}

async function readCustomerUids({ prisma }: GraphqlContext, ids: readonly bigint[]): Promise<(string | Error)[]> {
  const found = await prisma.customer.findMany({ where: { id: { in: [...ids] } }, select: { id: true, uid: true } });
  const uids = new Map(found.map(({ id, uid }) => [id, uid]));
  return ids.map((id) => uids.get(id) ?? new Error('The customer of the token is gone.'));
}
