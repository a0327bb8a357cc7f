/**
 * The data that Liquid templates may use: `subscriber.*`, `campaign.*`, `list.*`, `contact.*`, the addresses, the date, and every
 * merge tag by its upper-case name. Objects without prototype that contain texts only.
 */
import { cleanText } from './escape.ts';
import type { FillScope } from './fill-scope.ts';
import type { LiquidData } from './liquid-messages.ts';
import { isSystemUrl, type TagValues } from './merge-tags.ts';

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
  const object = typeof existing === 'object' ? existing : emptyTree();
  object[tag.slice(prefix.length).toLowerCase()] = text;
  data[name] = object;
}

function emptyTree(): LiquidData {
  const tree: LiquidData = Object.create(null);
  return tree;
}
