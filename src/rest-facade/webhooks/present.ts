/** How REST shows webhooks and their log. */
import type {
  RestWebhookDeliveryFragment,
  RestWebhookEventFragment,
  RestWebhookFragment,
  RestWebhookSecretFragment,
} from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

const DOTTED = /^(campaign|subscriber)_/;

/** GraphQL allows no dot in the name of a value. */
export function eventName(word: string): string {
  return word.replace(DOTTED, '$1.');
}

/** The opposite. */
export function eventWord(name: string | undefined): string | undefined {
  return name?.replace('.', '_');
}

export function presentEvent({ name, ...event }: RestWebhookEventFragment) {
  return { event: name, ...event };
}

export function presentWebhook(webhook: RestWebhookFragment) {
  const { uid, name, kind, url, method, headers, status } = webhook;
  return {
    ...{ uid, name, kind, event: eventName(webhook.event), url, method, headers },
    list_uid: webhook.listUid ?? null,
    campaign_uid: webhook.campaignUid ?? null,
    template_uid: webhook.templateUid ?? null,
    with_machines: webhook.withMachines,
    body_template: webhook.bodyTemplate ?? null,
    retry_times: webhook.retryTimes,
    retry_after_seconds: webhook.retryAfterSeconds,
    retry_seconds_max: webhook.retrySecondsMax,
    status,
    pause_reason: webhook.pauseReason ?? null,
    paused_at: restTime(webhook.pausedAt),
    failing_since: restTime(webhook.failingSince),
    previous_secret_ends_at: restTime(webhook.previousSecretEndsAt),
    created_at: restTime(webhook.createdAt),
    updated_at: restTime(webhook.updatedAt),
  };
}

export function presentSecret({ uid, secret, webhook }: RestWebhookSecretFragment) {
  return { webhook_uid: uid, secret, webhook: presentWebhook(webhook) };
}

export function presentDelivery(delivery: RestWebhookDeliveryFragment) {
  const { uid, state, body } = delivery;
  return {
    ...{
      uid,
      event: eventName(delivery.event),
      state,
      is_test: delivery.isTest,
      body,
      attempt_count: delivery.attemptCount,
    },
    attempts: delivery.attempts.map(({ attempt, at, method, url, headers, ...result }) => ({
      ...{ attempt, at: restTime(at), request: { method, url, headers } },
      status: result.status ?? null,
      duration_ms: result.durationMs,
      answer: result.answer ?? null,
      error: result.error ?? null,
      next_attempt_at: restTime(result.nextAttemptAt),
    })),
    created_at: restTime(delivery.createdAt),
    next_attempt_at: restTime(delivery.nextAttemptAt),
    finished_at: restTime(delivery.finishedAt),
  };
}
