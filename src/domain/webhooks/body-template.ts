/** Bodies of requests from Liquid over the payload (decision D43). */
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts';
import { ValidationError } from '../../lib/errors.ts';
import type { LiquidData } from '../content/liquid-messages.ts';
import { liquidFilterSet, openLiquid, type LiquidTemplate } from '../content/liquid-thread.ts';
import { wrongBodyTemplate } from './webhook-errors.ts';
import { WEBHOOK_EVENTS, type WebhookEvent } from './webhook-events.ts';

/** Parsed templates that are kept, those used longest ago forgotten first. */
const TEMPLATES_MAX = 100;
/** Receivers commonly take a megabyte; events have a few hundred bytes. */
const BODY_LENGTH_MAX = 262_144;

/** A delivery that waits here has its place and its lease. */
const WAIT_MS_MAX = 20_000;

/** All templates of a process share one thread: slow ones of a customer do not fill it. */
const rendering = createConcurrencyLimit({
  ...{ runningMax: 16, runningPerKeyMax: 1, waitMsMax: WAIT_MS_MAX },
  refuse: () => wrongBodyTemplate(['Too many bodies are being made at once: the templates take too long.']),
});

const templates = new Map<string, Promise<LiquidTemplate>>();

interface Rendering {
  readonly payload: LiquidData;
  /** Whose template it is. */
  readonly customerId: bigint;
}

/** The body for a payload. Throws ValidationError `WEBHOOK_TEMPLATE_FAULT` on `bodyTemplate`. */
export function renderBody(template: string, { payload, customerId }: Rendering): Promise<string> {
  return rendering.run(() => bodyOf(template, payload), String(customerId));
}

async function bodyOf(template: string, payload: LiquidData): Promise<string> {
  try {
    const { groups, render } = await opened(template);
    const texts = groups.includes(null) ? await render(payload) : [];
    let slot = 0;
    // A NUL can be stored in no text.
    const body = groups
      .map((group) => group ?? texts[slot++] ?? '')
      .join('')
      .replaceAll('\0', '');
    if (body.length > BODY_LENGTH_MAX)
      throw wrongBodyTemplate([`The body may have at most ${BODY_LENGTH_MAX} characters.`]);
    return body;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw wrongBodyTemplate(Object.values(error.fields).flat());
  }
}

/** Throws as `renderBody` does, if it fails with the example of the event. */
export async function checkBodyTemplate(
  template: string,
  { event, customerId }: { readonly event: WebhookEvent; readonly customerId: bigint },
): Promise<void> {
  await renderBody(template, { payload: { ...WEBHOOK_EVENTS[event].example }, customerId });
}

function opened(template: string): Promise<LiquidTemplate> {
  // Plugins come and go: with other filters it is another template.
  const key = `${liquidFilterSet()} ${template}`;
  const known = templates.get(key);
  templates.delete(key);
  const opening = known ?? openLiquid({ source: template, isHtml: false, field: 'plain' });
  // One that cannot be read is not kept.
  opening.catch(() => templates.delete(key));
  templates.set(key, opening);
  for (const oldest of templates.keys()) {
    if (templates.size <= TEMPLATES_MAX) break;
    templates.delete(oldest);
  }
  return opening;
}
