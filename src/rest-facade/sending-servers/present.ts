/** How REST shows sending servers: the fields of the specification, and what a client needs to edit one. */
import type { RestSendingHealthFragment, RestSendingServerFragment } from '../../generated/operations.ts';
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

/** The whole server; the settings are without credentials. */
export function presentServer(server: RestSendingServerFragment) {
  return {
    uid: server.uid,
    name: server.name,
    type: server.type,
    status: server.status,
    fault: server.fault ?? null,
    settings: server.settings,
    webhook_url: server.webhookUrl ?? null,
    bounces_come_by: server.bouncesComeBy?.toLowerCase() ?? null,
    bounce_warning: server.bounceWarning ?? null,
    default_from_email: server.defaultFromEmail,
    connections: { now: server.connectionsNow, max: server.connectionsMax },
    quota_value: server.quotaValue ?? -1,
    quota_base: server.quotaBase,
    quota_unit: server.quotaUnit,
    is_system: server.isSystem,
    domain_limits: server.domainLimits,
    warm_up: presentWarmUp(server.warmUp),
    health: {
      ...presentHealth(server.health),
      mailboxes: server.mailboxHealth.map((one) => ({ name: one.mailboxes, ...presentHealth(one) })),
    },
    created_at: restTime(server.createdAt),
    updated_at: restTime(server.updatedAt),
  };
}

function presentHealth(health: RestSendingHealthFragment) {
  return {
    state: health.state.toLowerCase().replace('_', '-'),
    failures: health.failures,
    slots: health.slots,
    rests_until: restTime(health.restsUntil),
    last_error: health.lastError,
  };
}

function presentWarmUp(warmUp: RestSendingServerFragment['warmUp']) {
  return (
    warmUp && {
      schedule: warmUp.schedule,
      day: warmUp.day,
      limit_today: warmUp.limitToday,
      used_today: warmUp.usedToday,
      bounced_today: warmUp.bouncedToday,
      stopped_at: restTime(warmUp.stoppedAt),
      stop_reason: warmUp.stopReason,
    }
  );
}
