/** What plugins add to messages, checked when they register it. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { singleLine, multiLine } from '../lib/text.ts';
import {
  TEMPLATE_HTML_LENGTH_MAX,
  TEMPLATE_PLAIN_LENGTH_MAX,
  TEMPLATES_MAX,
  type MergeTag,
  type RecipientCheck,
} from '../plugin-api/index.ts';
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

const recipientCheckShape = z.strictObject({ skips: functionShape<RecipientCheck['skips']>() });

export const checkRecipientCheck = checkBy(recipientCheckShape, (entry) => entry);

function requirePrefix(tag: string, { plugin }: Giver): void {
  const prefix = `${vendorOf(plugin).toUpperCase().replaceAll('-', '_')}_`;
  if (!tag.startsWith(prefix)) throw new EntryError(`"tag": must begin with ${prefix}.`);
}

/** RFC 5322 2.1.1, as for the subject of a campaign. */
const SUBJECT_LENGTH_MAX = 998;

const mailTemplateShape = z.strictObject({
  key: z
    .string()
    .max(TAG_LENGTH_MAX)
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must have small letters, digits and single hyphens'),
  title: singleLine(TITLE_LENGTH_MAX),
  language: z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'must be a language tag such as de or pt-BR'),
  subject: singleLine(SUBJECT_LENGTH_MAX),
  html: multiLine(TEMPLATE_HTML_LENGTH_MAX).refine((html) => html.trim() !== '', 'must not be empty'),
  plain: multiLine(TEMPLATE_PLAIN_LENGTH_MAX).optional(),
});

/** A mail template; whether its Liquid can be read is checked before the plugin goes live (domain/content/check-mail-templates). */
export const checkMailTemplate = checkBy(mailTemplateShape, (entry, { others = [] }) => {
  if (others.length >= TEMPLATES_MAX) throw new EntryError(`A plugin may have ${TEMPLATES_MAX} mail templates.`);
  if (others.some((other) => Reflect.get(Object(other), 'key') === entry.key))
    throw new EntryError(`"key": the plugin has two mail templates ${entry.key}.`);
  return entry;
});

const liquidFilterShape = z.strictObject({
  name: z
    .string()
    .max(TAG_LENGTH_MAX)
    .regex(/^[a-z][a-z0-9_]*$/, 'must have small letters, digits and _'),
  module: z
    .string()
    .regex(/^\.\/[\w./-]+\.(ts|mts|js|mjs)$/, 'must be a path such as ./liquid/shout.ts')
    .refine((text) => !text.split('/').includes('..'), 'must not leave the folder'),
  export: z.string().regex(/^[A-Za-z_$][\w$]{0,99}$/, 'must be the name of an export'),
});

/** Kept with the address of its module, which is loaded only in the thread that runs Liquid. */
export const checkLiquidFilter = checkBy(liquidFilterShape, (entry, { plugin, folder, others = [] }) => {
  const prefix = `${vendorOf(plugin).replaceAll('-', '_')}_`;
  if (!entry.name.startsWith(prefix)) throw new EntryError(`"name": must begin with ${prefix}.`);
  if (others.some((other) => Reflect.get(Object(other), 'name') === entry.name))
    throw new EntryError(`"name": the plugin has two filters ${entry.name}.`);
  const file = path.join(folder ?? '', entry.module);
  if (folder === undefined || !existsSync(file)) throw new EntryError(`"module": ${entry.module} is not there.`);
  return { ...entry, module: pathToFileURL(file).href };
});

export function vendorOf(plugin: string): string {
  return plugin.slice(0, plugin.indexOf('/'));
}
