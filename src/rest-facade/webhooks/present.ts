/** How REST shows webhooks and their log. */
import type {
  RestWebhookDeliveryFragment,
  RestWebhookFragment,
  RestWebhookSecretFragment,
} from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentWebhook(webhook: RestWebhookFragment) {
  const { uid, name, event, url, method, headers, status } = webhook;
  return {
    ...{ uid, name, event, url, method, headers },
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
  const { uid, event, state, body } = delivery;
  return {
    ...{ uid, event, state, is_test: delivery.isTest, body, attempt_count: delivery.attemptCount },
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
