/** What is shut in every Liquid engine of ours, because others write the texts: no file and no other template can be read, values have no inherited properties. */
import type { Liquid } from 'liquidjs';

export const CLOSED_LIQUID = {
  templates: {},
  ownPropertyOnly: true,
  strictFilters: true,
  strictVariables: false,
  dynamicPartials: false,
  relativeReference: false,
  cache: false,
} as const;

/** Tags that read other templates; without them no template can name a file. */
const OPENING_TAGS = ['include', 'render', 'layout', 'block'];

/** Takes away the tags that read other templates, and the filter that switches the escaping off. */
export function closeLiquid(engine: Liquid): void {
  for (const tag of OPENING_TAGS) delete engine.tags[tag];
  engine.unregisterFilter('raw');
}
