/**
 * The data that Liquid templates may use: `subscriber.*`, `campaign.*`, `list.*`, `contact.*`, the addresses, the date, every
 * merge tag by its upper-case name, and `data.*` and `payload.*`, which come with a mail. Objects without prototype.
 */
import { cleanText } from './escape.ts';
import type { FillScope } from './fill-scope.ts';
import type { LiquidData, LiquidValue } from './liquid-messages.ts';
import { isSystemUrl, type TagValues } from './merge-tags.ts';
import type { MailData } from './mail-data.ts';

/** The prefix of a tag and the object that contains it, too: `{LIST_NAME}` is `list.name`. */
const OBJECTS: readonly (readonly [prefix: string, object: string])[] = [
  ['SUBSCRIBER_', 'subscriber'],
  ['CAMPAIGN_', 'campaign'],
  ['LIST_', 'list'],
  ['CONTACT_', 'contact'],
];

/**
 * The tags whose values a template needs. Values take time and our addresses a signature each, so only those that the template
 * names are made; all except the addresses when it looks up names in brackets.
 */
export function neededTags(tags: TagValues, source: string): string[] {
  const text = source.toUpperCase();
  const looksUp = source.split('}').some(hasBracketInConstruct);
  return [...tags.keys()].filter((tag) => text.includes(shortName(tag)) || (looksUp && !isSystemUrl(tag)));
}

/** Makes the variables of one recipient, for one template that needs these tags. */
export function compileLiquidData(tags: TagValues, names: readonly string[]): (scope: FillScope) => LiquidData {
  const needed = names.map((tag) => [tag, tags.get(tag) ?? ''] as const);
  return (scope) => {
    const data = emptyTree();
    for (const [, object] of OBJECTS) data[object] = emptyTree();
    const { data: given, payload } = scope.recipient;
    if (given) data['data'] = cleanTree(given);
    if (payload) data['payload'] = cleanTree(payload);
    for (const [tag, value] of needed) {
      const filled = typeof value === 'string' ? value : cleanText(value(scope));
      data[tag] = filled;
      place(data, tag, filled);
    }
    return data;
  };
}

/** Whether a text up to the next `}` has an open construct in which something is looked up by brackets. */
function hasBracketInConstruct(text: string): boolean {
  const at = text.search(/\{[{%]/);
  return at !== -1 && text.includes('[', at);
}

/** The part of a tag by which a template may name it: `LIST_NAME` is `NAME` in `list.name`. */
function shortName(tag: string): string {
  const entry = OBJECTS.find(([prefix]) => tag.startsWith(prefix));
  return entry ? tag.slice(entry[0].length) : tag;
}

function place(data: LiquidData, tag: string, text: string): void {
  const entry = OBJECTS.find(([prefix]) => tag.startsWith(prefix));
  if (entry === undefined) {
    if (isSystemUrl(tag) || tag.startsWith('CURRENT_')) data[tag.toLowerCase()] = text;
    return;
  }
  const [prefix, name] = entry;
  const existing = data[name];
  const object = isTree(existing) ? existing : emptyTree();
  object[tag.slice(prefix.length).toLowerCase()] = text;
  data[name] = object;
}

function emptyTree(): LiquidData {
  const tree: LiquidData = Object.create(null);
  return tree;
}

function isTree(value: LiquidValue | undefined): value is LiquidData {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names and texts without our marks. */
function cleanTree(given: MailData): LiquidData {
  const tree = emptyTree();
  for (const [name, value] of Object.entries(given)) tree[cleanText(name)] = cleanValue(value);
  return tree;
}

function cleanValue(value: MailData[string]): LiquidValue {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  return isList(value) ? value.map(cleanValue) : cleanTree(value);
}

function isList(value: MailData[string]): value is readonly MailData[string][] {
  return Array.isArray(value);
}
