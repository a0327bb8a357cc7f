/** One attempt of a delivery: its body, the signed request, and what the answer means (decisions D42, D43). */
import { z } from 'zod';
import { messageOf, ValidationError } from '../../lib/errors.ts';
import { NoAnswerError, type PooledAnswer } from '../../lib/outbound-pool.ts';
import type { Context } from '../context.ts';
import { renderBody } from './body-template.ts';
import type { Attempt, AttemptRequest, TakenDelivery } from './delivery-store.ts';
import { hideHeaders } from './hidden-headers.ts';
import { ANSWER_BYTES_MAX, type ReceiverConnections } from './receiver-connections.ts';
import { retryAfterOf, retryDelaySeconds } from './retry-schedule.ts';
import { signedHeaders } from './sign-delivery.ts';
import { unsealWebhookSecret } from './webhook-secret.ts';

/** The webhook does not exist any more for its receiver (RFC 9110, 15.5.11). */
export const GONE = 410;

/** What an attempt needs of a delivery and its webhook. */
export type Attemptable = Omit<TakenDelivery, 'id' | 'madeOn' | 'webhookId' | 'personId' | 'status'>;
/** Of an attempt, without the delivery. */
export type AttemptResult = Omit<Attempt, 'delivery'> & { readonly request: AttemptRequest };

const payloadShape = z.record(z.string(), z.json());

/** Sends the delivery once. A failure is a result. */
export async function attemptDelivery(
  ctx: Context,
  connections: ReceiverConnections,
  delivery: Attemptable,
): Promise<AttemptResult> {
  const attempt = delivery.attempts + 1;
  const { method, url } = delivery;
  const prepared = await preparedBody(delivery).catch((error: unknown) => faultOf(error));
  const secrets = secretsOf(ctx, delivery);
  const fault = faultIn(prepared) ?? faultIn(secrets);
  if ('fault' in prepared || 'fault' in secrets)
    return { ...NOTHING, ...failed(delivery, 0), attempt, request: { method, url, headers: {} }, error: fault ?? '' };
  const { body, rendered } = prepared;
  const timestamp = Math.floor(ctx.clock.now().getTime() / 1_000);
  const signed = {
    ...signedHeaders({ deliveryUid: delivery.uid, event: delivery.event, timestamp, body, ...secrets }),
    ...(delivery.isTest && { 'X-Service-Test': 'true' }),
  };
  const headers = { 'Content-Type': 'application/json', ...byName(delivery.headers), ...signed };
  const request = { method, url, headers: { ...headers, ...hideHeaders(byName(delivery.headers)) } };
  const startedAt = performance.now();
  const { pathname, search } = new URL(url);
  const outcome = await connections
    .request(delivery.receiver, { method, path: pathname + search, headers, body })
    .then((answer) => judged(ctx, delivery, answer))
    .catch((error: unknown) => unanswered(delivery, error));
  return { ...outcome, attempt, request, body: rendered, durationMs: Math.round(performance.now() - startedAt) };
}

/** Nothing was sent. What prevented it may be over at the next attempt: the template or the secret is changed, the thread lives again. */
const NOTHING = { status: null, durationMs: 0, answer: null, body: null } as const;

/** The same name in other letters is the same header. */
function byName(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase() === 'content-type' ? 'Content-Type' : name,
      value,
    ]),
  );
}

/** The bytes to send: those that are stored, or those of the template, which are stored with the attempt. */
async function preparedBody(
  delivery: Attemptable,
): Promise<{ readonly body: Buffer; readonly rendered: string | null }> {
  const { payload, body, bodyTemplate, customerId } = delivery;
  if (body || bodyTemplate === null) return { body: body ?? payload, rendered: null };
  const data = payloadShape.parse(JSON.parse(payload.toString('utf8')));
  const rendered = await renderBody(bodyTemplate, { payload: data, customerId });
  return { body: Buffer.from(rendered), rendered };
}

function secretsOf(ctx: Context, delivery: Attemptable) {
  const present = unsealed(ctx, delivery, delivery.sealedSecret);
  if (present === undefined)
    return {
      fault:
        'The secret cannot be decrypted: the secret of the installation has changed. Rotate the secret of the webhook.',
    };
  // The one before is only for receivers that do not know the present one yet: without it the others still verify.
  const previous = delivery.sealedPreviousSecret && unsealed(ctx, delivery, delivery.sealedPreviousSecret);
  return { secret: present, previousSecret: previous ?? undefined };
}

function unsealed({ installation, log }: Context, { webhookUid }: Attemptable, sealed: Uint8Array): string | undefined {
  try {
    return unsealWebhookSecret(installation.secret, webhookUid, sealed);
  } catch (error) {
    log.warn('webhooks.secret_unreadable', { webhookUid, message: messageOf(error) });
    return undefined;
  }
}

function faultIn(prepared: object): string | undefined {
  return 'fault' in prepared && typeof prepared.fault === 'string' ? prepared.fault : undefined;
}

function faultOf(error: unknown): { readonly fault: string } {
  if (!(error instanceof ValidationError)) throw error;
  return { fault: `The body could not be made. ${Object.values(error.fields).flat().join(' ')}` };
}

type Judged = Pick<Attempt, 'state' | 'delaySeconds' | 'status' | 'answer' | 'error'>;

function judged(ctx: Context, delivery: Attemptable, { status, headers, body }: PooledAnswer): Judged {
  const answer = body.subarray(0, ANSWER_BYTES_MAX).toString('utf8').replaceAll('\0', '');
  if (status >= 200 && status < 300) return { state: 'delivered', delaySeconds: null, status, answer, error: null };
  const asked = retryAfterOf(headers['retry-after'], ctx.clock.now());
  return { ...failed(delivery, asked), status, answer, error: wordsFor(status) };
}

function unanswered(delivery: Attemptable, error: unknown): Judged {
  if (!(error instanceof NoAnswerError)) throw error;
  return { ...failed(delivery, 0), status: null, answer: null, error: messageOf(error) };
}

function failed(delivery: Attemptable, askedSeconds: number): Pick<Attempt, 'state' | 'delaySeconds'> {
  const failures = delivery.attempts - delivery.attemptsBefore + 1;
  const delaySeconds = delivery.isTest ? null : retryDelaySeconds(delivery, failures, askedSeconds);
  return { state: delaySeconds === null ? 'failed' : 'waiting', delaySeconds };
}

function wordsFor(status: number): string {
  if (status === GONE) return 'The receiver answered 410: it does not want this webhook any more. It was paused.';
  if (status >= 300 && status < 400)
    return `The receiver answered ${status}. Redirects are not followed: change the url.`;
  return `The receiver answered ${status}.`;
}
