/** Before a plugin goes live: whether the Liquid of its mail templates can be read. The texts are short, and an administrator has chosen the plugin. */
import type { OwnedEntries } from '../product-hooks.ts';
import { messageOf } from '../../lib/errors.ts';
import { addFilter, liquidEngine, parseLiquid } from './liquid-engine.ts';

const LIQUID = /\{[{%]/;

/** Throws an Error that names the plugin, the template and the fault. */
export function checkMailTemplates(next: OwnedEntries): void {
  // Here templates are only parsed: filters of plugins need to be known, and are never called.
  for (const { plugin, value } of next.owned('liquid_filter')) addFilter({ plugin, name: value.name }, () => '');
  for (const { plugin, value } of next.owned('mail_template')) {
    for (const part of ['subject', 'html', 'plain'] as const) {
      const text = value[part] ?? '';
      if (!LIQUID.test(text)) continue;
      try {
        parseLiquid(liquidEngine(part === 'html'), text, part);
      } catch (error) {
        throw new Error(`The mail template "${value.key}" of plugin "${plugin}" cannot be used. ${messageOf(error)}`, {
          cause: error,
        });
      }
    }
  }
}
