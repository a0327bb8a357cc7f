/** How REST shows a customer (specification 2.7): the tenant and its first user as one. */
import type { RestCustomerFragment } from '../../generated/operations.ts';
import { presentContact } from '../lists/present.ts';
import { restTime } from '../timestamps.ts';

export function presentCustomer(customer: RestCustomerFragment) {
  const { owner } = customer;
  return {
    uid: customer.uid,
    name: customer.name,
    email: owner?.email ?? '',
    first_name: owner?.firstName ?? '',
    last_name: owner?.lastName ?? '',
    image: customer.image,
    contact: presentContact(customer.contact),
    timezone: owner?.timezone ?? customer.timezone,
    language_id: customer.languageId,
    status: customer.status,
    // Older clients read it; this product has no such options.
    options: [],
    current_period_ends_at: restTime(customer.currentPeriodEndsAt),
    created_at: restTime(customer.createdAt),
    updated_at: restTime(customer.updatedAt),
  };
}
