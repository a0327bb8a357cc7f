/** The shape of what a plugin hands over as its GraphQL part, and how the names in it have to begin. */
import { z } from 'zod';
import { SCOPES } from '../../domain/accounts/scopes.ts';
import type { Access } from '../access.ts';

/** A part of this size has hundreds of types. */
const SCHEMA_CHARACTERS_MAX = 100_000;

type PartFunction = (...given: readonly unknown[]) => unknown;

const resolver = z.custom<PartFunction>((value) => typeof value === 'function');

const access = z
  .union([z.enum(['public', 'authenticated', 'admin']), z.strictObject({ scope: z.enum(SCOPES) })])
  .transform((value): Access => {
    if (typeof value === 'object') return value;
    if (value === 'admin') return { admin: true };
    return value === 'public' ? { public: true } : { authenticated: true };
  });

export const partShape = z.strictObject({
  schema: z.string().min(1).max(SCHEMA_CHARACTERS_MAX),
  resolvers: z.record(z.string(), z.record(z.string(), z.union([resolver, z.strictObject({ subscribe: resolver })]))),
  access: z.record(z.string(), access),
});

export type GivenPart = z.output<typeof partShape>;

const RULES: Readonly<Record<string, string>> = {
  schema: `"schema" must be a text of SDL with at most ${SCHEMA_CHARACTERS_MAX} characters.`,
  resolvers:
    '"resolvers" must have an object for each type, with a function for each field; a field of Subscription has an object with the function "subscribe".',
  access: `"access" must name for each root field "public", "authenticated", "admin" or { scope } with one of: ${SCOPES.join(', ')}.`,
};

/** What is wrong with the shape, in a sentence. */
export function shapeFault({ issues }: z.ZodError): string {
  const names = new Set(issues.map(({ path: [name] }) => String(name)));
  const rules = [...names].flatMap((name) => RULES[name] ?? []);
  return rules.join(' ') || 'It must be an object with "schema", "resolvers" and "access", and nothing else.';
}

/** `acme-tools` -> types begin with `AcmeTools`, fields with `acmeTools`. */
export function prefixesOf(plugin: string): { readonly type: string; readonly field: string } {
  const [vendor = ''] = plugin.split('/');
  const type = vendor.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase());
  return { type, field: type.charAt(0).toLowerCase() + type.slice(1) };
}

/** Whether the name begins with the prefix as a word of its own. */
export function beginsWith(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && /^[A-Z0-9]/.test(name.slice(prefix.length));
}
