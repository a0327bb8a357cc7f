/** Addresses that must get no mail: a customer's own, and the whole installation's (customer 0). */

export type SuppressionReason = 'bounce' | 'complaint' | 'undeliverable' | 'manual' | 'erased';

/** The customer that stands for the whole installation. */
export const EVERY_CUSTOMER = 0n;
