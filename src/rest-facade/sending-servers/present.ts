/** How REST shows sending servers: the fields of the specification, and what a client needs to edit one. */
import type { RestSendingServerFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

/** A row of the index. */
export function presentServerRow(server: RestSendingServerFragment) {
  return {
    uid: server.uid,
    name: server.name,
    type: server.type,
    status: server.status,
    created_at: restTime(server.createdAt),
    updated_at: restTime(server.updatedAt),
  };
}

/** The whole server; credentials are not among the settings. */
export function presentServer(server: RestSendingServerFragment) {
  return {
    uid: server.uid,
    name: server.name,
    type: server.type,
    status: server.status,
    settings: server.settings,
    default_from_email: server.defaultFromEmail,
    quota_value: server.quotaValue ?? -1,
    quota_base: server.quotaBase,
    quota_unit: server.quotaUnit,
    is_system: server.isSystem,
    created_at: restTime(server.createdAt),
    updated_at: restTime(server.updatedAt),
  };
}
