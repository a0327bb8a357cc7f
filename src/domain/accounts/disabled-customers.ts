/**
 * The disabled customers, for paths that may not ask the database: the redirect of a click uses memory only. The set is small,
 * and read often enough that a disabled customer's links stop within five seconds.
 */
import { messageOf } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { disabledCustomerIds } from './customer-store.ts';

export interface DisabledCustomers {
  /** Whether this customer is disabled, being deleted, or was erased. */
  has(customerId: bigint): boolean;
  close(): void;
}

/** Together with a slow statement, under five seconds. */
const READ_EVERY_MS = 2_000;

/**
 * Reads the set now and every two seconds until it is closed; while the database is away it stays unchanged. Throws when it
 * cannot be read the first time: no link may be served before.
 */
export async function watchDisabledCustomers({ db, log }: Pick<Context, 'db' | 'log'>): Promise<DisabledCustomers> {
  let disabled = await disabledCustomerIds(db);
  let isReading = false;
  async function readAgain(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      disabled = await disabledCustomerIds(db);
    } catch (error) {
      log.warn('accounts.disabled_customers_not_read', { message: messageOf(error) });
    } finally {
      isReading = false;
    }
  }
  const timer = setInterval(() => void readAgain(), READ_EVERY_MS).unref();
  return { has: (customerId) => disabled.has(customerId), close: () => clearInterval(timer) };
}
