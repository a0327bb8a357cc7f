/**
 * The values of merge tags that plugins provide (REGISTRY `merge_tag`), asked for once for a whole batch of recipients. A plugin that fails
 * never stops a campaign: its fallback is used, or the recipients wait if the tag is required.
 */
import type { CompiledMessage, FieldValue, MessageSource, PluginValues } from '../../content/message.ts';
import type { OwnedEntry, ProductHooks } from '../../product-hooks.ts';
import type { MergeTag, TagRecipient } from '../../../plugin-api/index.ts';

/** So long all of a batch waits for a plugin. Leases of recipients are longer. */
const VALUES_MS_MAX = 10_000;
/** A value stands in a text; a plugin with a whole page of html composes the message instead. */
const VALUE_LENGTH_MAX = 10_000;

interface Person {
  readonly email: string;
  readonly uid: string;
  readonly fields: Readonly<Record<string, FieldValue>>;
}

export interface TagValues {
  /** By the recipient's uid; without a person: the examples. */
  of(uid: string): PluginValues;
  /** The plugin whose required tag has no value for this recipient. */
  missingFor(uid: string): string | undefined;
}

/** The tags that the texts of a message name, of active plugins that may act for its customer, with the fallbacks. */
export function pluginTagsIn(hooks: ProductHooks, source: MessageSource): Readonly<Record<string, string>> {
  const entries = hooks.owned('merge_tag').filter(({ plugin }) => hooks.mayActFor(plugin, source.customerUid));
  if (entries.length === 0) return {};
  const { subject, preheader, from, html, plain, list, footer } = source;
  const texts = [subject, preheader, from.name, html, plain, list.remindMessage, footer?.html, footer?.plain];
  const named = (tag: string) => texts.some((text) => text?.includes(tag));
  return Object.fromEntries(
    entries.flatMap(({ value: { tag, fallback = '' } }) => (named(tag) ? [[tag, fallback]] : [])),
  );
}

/** Asks the plugins for the values of these people. Undefined: the message names no tag of a plugin. */
export async function tagValuesFor(
  hooks: ProductHooks,
  { pluginTags: { names, ...about } }: Pick<CompiledMessage, 'pluginTags'>,
  people: readonly Person[],
): Promise<TagValues | undefined> {
  if (names.length === 0) return undefined;
  const wanted = entriesOf(hooks, names, about.customerUid);
  const recipients = people.map(({ email, uid, fields }): TagRecipient => ({ subscriberUid: uid, email, fields }));
  const answers = await Promise.all(
    wanted.map(async (entry) => ({ entry, values: await valuesOf(hooks, entry, { recipients, about }) })),
  );
  return {
    of: (uid) =>
      Object.fromEntries(
        answers.flatMap(({ entry, values }) => {
          const value = values.get(uid);
          return value === undefined ? [] : [[entry.value.tag, value]];
        }),
      ),
    missingFor: (uid) =>
      answers.find(({ entry, values }) => entry.value.isRequired === true && !values.has(uid))?.entry.plugin,
  };
}

/** For a preview without a person. */
export function exampleValues(
  hooks: ProductHooks,
  { pluginTags: { names, customerUid } }: Pick<CompiledMessage, 'pluginTags'>,
): PluginValues {
  return Object.fromEntries(
    entriesOf(hooks, names, customerUid).map(({ value: { tag, example, fallback = '' } }) => [
      tag,
      example ?? fallback,
    ]),
  );
}

/** The first plugin in the order of the hook provides a tag. */
function entriesOf(
  hooks: ProductHooks,
  names: readonly string[],
  customerUid: string,
): readonly OwnedEntry<MergeTag>[] {
  const entries = hooks.owned('merge_tag').filter(({ plugin }) => hooks.mayActFor(plugin, customerUid));
  return names.flatMap((name) => entries.find(({ value }) => value.tag === name) ?? []);
}

async function valuesOf(
  hooks: ProductHooks,
  { plugin, value: entry }: OwnedEntry<MergeTag>,
  { recipients, about }: { recipients: readonly TagRecipient[]; about: Parameters<MergeTag['values']>[1] },
): Promise<ReadonlyMap<string, string>> {
  const read = async () => readValues(await entry.values(recipients, about), recipients);
  // It is logged and counted already.
  return hooks.contained.run({ plugin, hook: 'merge_tag' }, read, { timeoutMs: VALUES_MS_MAX }).catch(() => new Map());
}

/** Throws TypeError when it is no object; what is neither text nor number is no value. */
function readValues(returned: unknown, recipients: readonly TagRecipient[]): ReadonlyMap<string, string> {
  if (typeof returned !== 'object' || returned === null)
    throw new TypeError('The values of a merge tag must be an object of texts by the uid of the subscriber.');
  const values = new Map<string, string>();
  for (const { subscriberUid } of recipients) {
    const value: unknown = Object.hasOwn(returned, subscriberUid) ? Reflect.get(returned, subscriberUid) : undefined;
    if (typeof value === 'string' || typeof value === 'number')
      values.set(subscriberUid, String(value).slice(0, VALUE_LENGTH_MAX));
  }
  return values;
}
