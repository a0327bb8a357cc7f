/** What a built-in template has. */
import type { TemplateTexts } from '../compile-template.ts';

export const BUILT_IN_NAMES = [
  'plain_letter',
  'newsletter',
  'announcement',
  'receipt',
  'welcome',
  're_permission',
] as const;

export interface BuiltInTemplate extends TemplateTexts {
  readonly name: (typeof BUILT_IN_NAMES)[number];
  readonly title: string;
  /** For whom it is made, in one sentence or two. */
  readonly description: string;
}
