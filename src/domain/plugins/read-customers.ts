/** Which customers have switched on which plugins: hooks ask this process's memory, because sending asks for each recipient. */
import type { Context } from '../context.ts';
import { switchedOn } from './plugin-customer-store.ts';

export async function readCustomers({ database, hooks }: Pick<Context, 'database' | 'hooks'>): Promise<void> {
  hooks.useCustomers(await switchedOn(database));
}
