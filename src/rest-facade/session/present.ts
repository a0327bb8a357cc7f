/** How REST shows the user of a token (decision D12). */
import type { SessionUserFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentUser(user: SessionUserFragment) {
  return {
    id: Number(user.id),
    uid: user.uid,
    email: user.email,
    first_name: user.firstName,
    last_name: user.lastName,
    timezone: user.timezone,
    image: user.image,
    status: user.status,
    is_admin: user.isAdmin,
    customer: user.customer,
    created_at: restTime(user.createdAt),
  };
}
