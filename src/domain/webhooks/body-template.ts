/** Bodies of requests from Liquid over the payload (decision D43). */
import { ValidationError } from '../../lib/errors.ts';
import type { LiquidData } from '../content/liquid-messages.ts';
import { liquidFilterSet, openLiquid, type LiquidTemplate } from '../content/liquid-thread.ts';
import { wrongBodyTemplate } from './webhook-errors.ts';
import { WEBHOOK_EVENTS, type WebhookEvent } from './webhook-events.ts';

/** Parsed templates that are kept, those used longest ago forgotten first. */
const TEMPLATES_MAX = 100;
/** Receivers commonly take a megabyte; events have a few hundred bytes. */
const BODY_LENGTH_MAX = 262_144;

const templates = new Map<string, Promise<LiquidTemplate>>();

/** The body for a payload. Throws ValidationError `WEBHOOK_TEMPLATE_FAULT` on `bodyTemplate`. */
export async function renderBody(template: string, payload: LiquidData): Promise<string> {
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
export async function checkBodyTemplate(template: string, event: WebhookEvent): Promise<void> {
  await renderBody(template, { ...WEBHOOK_EVENTS[event].example });
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
