/**
 * What a plugin's package.json must say: names, version, entry, the version of the contract it was written for, and what the plugin wants
 * to use.
 */
import { z } from 'zod';
import { CONTRACT_VERSION, type PluginRights } from '../plugin-api/index.ts';
import { RIGHTS_RULES, rightsOf, rightsShape } from './manifest-rights.ts';
import { RESERVED_NAMES } from './reserved-names.ts';

export interface PluginManifest {
  readonly version: string;
  readonly title: string;
  readonly description: string;
  /** Path of the entry in the folder, such as `./index.ts`. */
  readonly entry: string;
  /** What it wants to use. */
  readonly wants: PluginRights;
}

/** Its package.json was read, but the plugin cannot be used: each fault is a sentence. */
export class ManifestError extends Error {}

/** A vendor and a plugin are parts of addresses, of names of hooks and of tables. */
export const NAME_PATTERN = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const NAME_LENGTH_MAX = 40;
const TEXT_LENGTH_MAX = 200;
/** The vendor of the plugins that are part of the product. */
export const OWN_VENDOR = 'mailwright';

/** https://semver.org, without the build. */
const VERSION = /^\d{1,9}\.\d{1,9}\.\d{1,9}(-[0-9A-Za-z.-]{1,40})?$/;

const path = z
  .string()
  .regex(/^\.\/[\w./-]+$/)
  .refine((text) => !text.split('/').includes('..'));

const packageJson = z.object({
  name: z.string(),
  version: z.string().regex(VERSION),
  description: z.string().optional(),
  exports: z.union([
    path,
    z
      .object({ '.': z.union([path, z.object({ default: path }).transform((it) => it.default)]) })
      .transform((it) => it['.']),
  ]),
  mailwright: z.strictObject({
    contract: z.int(),
    title: z.string().min(1).max(TEXT_LENGTH_MAX).optional(),
    ...rightsShape,
  }),
});

const RULES: Readonly<Record<string, string>> = {
  name: '"name" of package.json must be @vendor/name or vendor/name.',
  version: '"version" of package.json must be a version such as 1.0.0.',
  description: '"description" of package.json must be a text.',
  exports: '"exports" of package.json must name the entry, such as "./index.ts".',
  mailwright: `"mailwright" of package.json must be an object with the number "contract", such as 1, and if you like a text "title" and ${Object.keys(
    RIGHTS_RULES,
  )
    .map((key) => `"${key}"`)
    .join(', ')}; nothing else.`,
  ...Object.fromEntries(
    Object.entries(RIGHTS_RULES).map(([key, rule]) => [
      `mailwright.${key}`,
      `"${key}" of "mailwright" in package.json must be ${rule}`,
    ]),
  ),
};

interface Place {
  readonly vendor: string;
  readonly name: string;
  readonly isBundled: boolean;
}

/** Reads the text of a package.json in the folder `<vendor>/<name>`. Throws ManifestError with all faults. */
export function parseManifest(text: string, place: Place): PluginManifest {
  const faults = placeFaults(place);
  const { success, data, error } = packageJson.safeParse(parseJson(text));
  if (!success) throw new ManifestError([...faults, ...new Set(error.issues.map(ruleOf))].join(' '));
  const { name, version, description = '', exports: entry, mailwright } = data;
  const folder = `${place.vendor}/${place.name}`;
  if (name !== folder && name !== `@${folder}`)
    faults.push(`"name" of package.json is "${name}"; in this folder it must be @${folder} or ${folder}.`);
  faults.push(...contractFaults(mailwright.contract));
  const { rights: wants, faults: ofRights } = rightsOf(mailwright, `${place.vendor.replaceAll('-', '_')}_`);
  faults.push(...ofRights);
  if (faults.length > 0) throw new ManifestError(faults.join(' '));
  return {
    ...{ version, entry, title: mailwright.title ?? folder, wants },
    description: description.slice(0, TEXT_LENGTH_MAX),
  };
}

function placeFaults({ vendor, name, isBundled }: Place): string[] {
  const faults: string[] = [];
  for (const part of [vendor, name]) {
    if (part.length > NAME_LENGTH_MAX || !NAME_PATTERN.test(part))
      faults.push(
        `The folder "${part}" must have a name of small letters, digits and single hyphens, at most ${NAME_LENGTH_MAX} characters.`,
      );
  }
  if (vendor === OWN_VENDOR && !isBundled) faults.push(`The vendor "${OWN_VENDOR}" is that of the product itself.`);
  if (RESERVED_NAMES.has(name))
    faults.push(`A plugin may not be named "${name}": /api/v1/${name} belongs to the product.`);
  return faults;
}

function contractFaults(contract: number): string[] {
  if (contract === CONTRACT_VERSION) return [];
  const what = `The plugin was written for version ${contract} of the contract; this version of Mailwright has version ${CONTRACT_VERSION}.`;
  return [
    contract < CONTRACT_VERSION
      ? `${what} Install a newer version of the plugin.`
      : `${what} Upgrade Mailwright, or install an older version of the plugin.`,
  ];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ManifestError('package.json is not valid JSON.');
  }
}

function ruleOf({ path: [key, inner] }: z.core.$ZodIssue): string {
  return RULES[`${String(key)}.${String(inner)}`] ?? RULES[String(key)] ?? 'package.json must be an object.';
}
