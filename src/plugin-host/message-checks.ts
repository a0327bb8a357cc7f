/** What plugins add to messages, checked when they register it. */
import { z } from 'zod';
import type { MergeTag } from '../plugin-api/index.ts';
import { checkBy, EntryError, functionShape, type Giver } from './entry-check.ts';

const TAG_LENGTH_MAX = 60;
const TITLE_LENGTH_MAX = 200;
/** It stands in every message. */
const TEXT_LENGTH_MAX = 1_000;

const mergeTagShape = z.strictObject({
  tag: z
    .string()
    .max(TAG_LENGTH_MAX)
    .regex(/^[A-Z][A-Z0-9_]*$/, 'must have capitals, digits and _'),
  title: z.string().min(1).max(TITLE_LENGTH_MAX),
  fallback: z.string().max(TEXT_LENGTH_MAX).optional(),
  example: z.string().max(TEXT_LENGTH_MAX).optional(),
  isRequired: z.boolean().optional(),
  values: functionShape<MergeTag['values']>(),
});

/** A merge tag has the vendor's prefix, and a plugin has one of a name. */
export const checkMergeTag = checkBy(mergeTagShape, (entry, giver) => {
  requirePrefix(entry.tag, giver);
  const isTaken = (giver.others ?? []).some((other) => Reflect.get(Object(other), 'tag') === entry.tag);
  if (isTaken) throw new EntryError(`"tag": the plugin has two merge tags ${entry.tag}.`);
  return entry;
});

function requirePrefix(tag: string, { plugin }: Giver): void {
  const vendor = plugin.slice(0, plugin.indexOf('/'));
  const prefix = `${vendor.toUpperCase().replaceAll('-', '_')}_`;
  if (!tag.startsWith(prefix)) throw new EntryError(`"tag": must begin with ${prefix}.`);
}
