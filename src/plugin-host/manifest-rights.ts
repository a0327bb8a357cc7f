/** The part of a manifest that says what the plugin wants to use. A key that is absent asks for nothing. */
import { z } from 'zod';
import type { PluginRights } from '../plugin-api/index.ts';
import { GRANTABLE_SCOPES } from './grantable-scopes.ts';

/** More make a list that nobody reads before granting it. */
const ENTRIES_MAX = 100;
const TEXT_LENGTH_MAX = 200;

/** The name of a hook, or a beginning of at least three characters followed by `*`. */
const HOOK = /^(?:[\w./-]{1,200}|[\w./-]{3,199}\*)$/;
/** A host name of at least two parts, `*.` before it if its subdomains are meant, a port if it is not 80 or 443. */
const HOST =
  /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){1,10}(?::[1-9]\d{0,4})?$/;
/** `localhost` has one part, and an operator may allow it. */
const ONE_PART = /^localhost(?::[1-9]\d{0,4})?$/;

function listOf<Entry extends z.ZodType<string>>(entry: Entry) {
  return z
    .array(entry)
    .max(ENTRIES_MAX)
    .default([])
    .transform((entries) => [...new Set(entries)].sort());
}

export const rightsShape = {
  scopes: listOf(z.enum(GRANTABLE_SCOPES)),
  customers: z.enum(['chosen', 'all']).default('chosen'),
  hooks: listOf(z.string().max(TEXT_LENGTH_MAX).regex(HOOK)),
  hosts: listOf(z.union([z.string().regex(HOST), z.string().regex(ONE_PART)])),
  browserHosts: listOf(z.union([z.string().regex(HOST), z.string().regex(ONE_PART)])),
  tables: z.union([z.boolean(), z.string().max(TEXT_LENGTH_MAX)]).default(false),
} as const;

/** What each key must be; the text follows `"<key>" of "mailwright" in package.json must be`. */
export const RIGHTS_RULES: Readonly<Record<keyof typeof rightsShape, string>> = {
  scopes: `a list of GraphQL scopes. There are ${GRANTABLE_SCOPES.join(', ')}.`,
  customers: '"chosen" (the plugin acts only for customers that have switched it on) or "all".',
  hooks:
    'a list of names of hooks, such as "customer_added", or of beginnings of at least three characters with "*", such as "page.*".',
  hosts: 'a list of host names in small letters, such as "api.example.com", "*.example.com" or "api.example.com:8443".',
  browserHosts:
    'a list of host names in small letters, such as "checkout.example.com" or "*.example.com": where its routes may send a browser.',
  tables: 'true if the plugin has tables, or the prefix of their names.',
};

type ReadRights = z.output<z.ZodObject<typeof rightsShape>>;

/** The rights, and why `tables` cannot be meant; `prefix` is that of the vendor's tables. */
export function rightsOf(
  { scopes, customers, hooks, hosts, browserHosts, tables }: ReadRights,
  prefix: string,
): { readonly rights: PluginRights; readonly faults: readonly string[] } {
  const faults =
    typeof tables === 'string' && tables !== prefix
      ? [
          `"tables" of "mailwright" in package.json is "${tables}"; the names of this vendor's tables begin with "${prefix}".`,
        ]
      : [];
  return { rights: { scopes, customers, hooks, hosts, browserHosts, tables: tables !== false }, faults };
}
