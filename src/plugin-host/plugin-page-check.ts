/** A page of a plugin, checked when it is added; its view is read then. */
import { z } from 'zod';
import { messageOf } from '../lib/errors.ts';
import { checkView, VIEW_BYTES_MAX } from '../lib/view-engine.ts';
import type { PluginPage } from '../plugin-api/index.ts';
import { checkBy, EntryError, functionShape, type EntryCheck } from './entry-check.ts';
import { audienceShape, labelShape } from './page-checks.ts';
import { readPluginFile } from './plugin-files.ts';

const NAME = /^[a-z0-9]+(?:[-/][a-z0-9]+)*$/;
const NAME_LENGTH_MAX = 100;
/** Mailwright makes it of `settings_form`. */
const TAKEN = 'settings';

const page = z.strictObject({
  name: z
    .string()
    .max(NAME_LENGTH_MAX)
    .regex(NAME, 'must be of small letters, digits, "-" and "/", such as notes or notes/edit')
    .refine((name) => name !== TAKEN, 'is taken: Mailwright makes this page of settings_form'),
  audience: audienceShape,
  title: labelShape,
  view: z.string().max(200),
  data: functionShape<NonNullable<PluginPage['data']>>().optional(),
  submit: functionShape<NonNullable<PluginPage['submit']>>().optional(),
});

export const checkPluginPage: EntryCheck = checkBy(page, (entry, giver) => {
  const { name, view } = entry;
  if (giver.others?.some((other) => nameOf(other) === name)) throw new EntryError(`It has two pages "${name}".`);
  const source = readPluginFile(giver, { below: 'resources/views', file: view, bytesMax: VIEW_BYTES_MAX });
  try {
    checkView(source);
  } catch (error) {
    throw new EntryError(`The view ${view} has a mistake: ${messageOf(error)}.`);
  }
  return { ...entry, source };
});

function nameOf(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined;
}
