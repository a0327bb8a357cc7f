/** Gives the texts of a campaign's message to the plugins, with the FILTER `message_composed`, before the message is compiled. */
import { z } from 'zod';
import { HTML_MEGABYTES_MAX, PLAIN_LENGTH_MAX, SUBJECT_LENGTH_MAX, type MessageSource } from '../../content/message.ts';
import type { ProductHooks } from '../../product-hooks.ts';
import { ValidationError } from '../../../lib/errors.ts';
import { longText, multiLine, optionalLine, parseInput } from '../../../lib/text.ts';

/** As of the fields of a campaign: longer ones have no use, and every recipient's copy would have them. */
const LINE_LENGTH_MAX = 255;

const texts = z.object({
  subject: optionalLine(SUBJECT_LENGTH_MAX),
  preheader: optionalLine(LINE_LENGTH_MAX),
  fromName: optionalLine(LINE_LENGTH_MAX),
  html: longText(HTML_MEGABYTES_MAX).nullable(),
  plain: multiLine(PLAIN_LENGTH_MAX).nullable(),
});
const NAMES = ['subject', 'preheader', 'fromName', 'html', 'plain'] as const;

export interface PluginComposed {
  readonly source: MessageSource;
  /** The plugins that have changed a text. */
  readonly changedBy: readonly string[];
}

/** The source with what plugins make of its texts. One that returns what cannot be sent changes nothing. */
export function composedByPlugins(hooks: ProductHooks, source: MessageSource): PluginComposed {
  if (!hooks.isFiltered('message_composed')) return { source, changedBy: [] };
  const changedBy: string[] = [];
  const { subject, preheader = '', from, html, plain } = source;
  const uids = { campaignUid: source.campaign.uid, listUid: source.list.uid, customerUid: source.customerUid };
  const given = { ...uids, subject, preheader, fromName: from.name, html, plain };
  const composed = hooks.filterChecked('message_composed', given, (returned, before, plugin) => {
    const next = parseTexts(returned);
    if (NAMES.some((name) => next[name] !== before[name])) changedBy.push(plugin);
    return { ...before, ...next };
  });
  if (changedBy.length === 0) return { source, changedBy };
  const { fromName, campaignUid: _, listUid: _list, customerUid: _customer, ...rest } = composed;
  return { source: { ...source, ...rest, from: { ...from, name: fromName } }, changedBy };
}

function parseTexts(returned: unknown): z.output<typeof texts> {
  const next = parseInput(texts, returned);
  if (!next.html?.trim() && !next.plain?.trim()) throw new TypeError('A message needs html or plain content.');
  return next;
}

/** A fault of a message that plugins have changed: it names them, because its author cannot see the changes. */
export function withPlugins(error: unknown, changedBy: readonly string[]): unknown {
  if (!(error instanceof ValidationError) || changedBy.length === 0) return error;
  const sentence = `The message was changed by ${changedBy.length === 1 ? 'the plugin' : 'the plugins'} ${changedBy.join(', ')}.`;
  const fields = Object.entries(error.fields).map(([field, sentences]) => [field, [...sentences, sentence]]);
  return new ValidationError(Object.fromEntries(fields), error.code, `${error.message} ${sentence}`);
}
