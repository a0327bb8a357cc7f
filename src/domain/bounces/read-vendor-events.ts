/** Reads the events in a vendor's request by the driver, which is foreign code: it has a time limit, and its result is checked. */
import { messageOf, WebhookBusyError } from '../../lib/errors.ts';
import type { WebhookRequest } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import type { WebhookServer } from '../sending/webhook-servers.ts';
import { checkWebhookEvents, type MessageEvent } from './webhook-events.ts';

/** A driver usually only computes; one that asks its vendor for a key may take a moment. */
const DRIVER_MS_MAX = 5_000;
const NAME_LENGTH_MAX = 100;

export interface ReadEvents {
  readonly events: readonly MessageEvent[];
  /** Why nothing could be read; null: it could. */
  readonly fault: string | null;
}

/** The events. Throws WebhookBusyError when the driver cannot say anything at present. */
export async function readVendorEvents(
  { log }: Context,
  { serverId, receiver, settings }: WebhookServer,
  request: WebhookRequest,
): Promise<ReadEvents> {
  try {
    const events = await inDriverTime(async () => receiver.parse(request, settings));
    const checked = checkWebhookEvents(events);
    for (const event of events)
      if (event.kind === 'ignored')
        log.debug('webhook.ignored', { serverId, name: event.name.slice(0, NAME_LENGTH_MAX) });
    return { events: checked, fault: null };
  } catch (error) {
    log.warn('webhook.parse_failed', { serverId, message: messageOf(error) });
    if (error instanceof WebhookBusyError) throw error;
    return { events: [], fault: messageOf(error) };
  }
}

/** The result of the driver's work. Throws WebhookBusyError when it takes too long. */
export function inDriverTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new WebhookBusyError('the driver took too long')), DRIVER_MS_MAX);
  });
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}
