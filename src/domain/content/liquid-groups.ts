/** Splits a parsed template into parts that are the same for everybody, and slots that are run for each recipient. */
import { TokenKind, type Template } from 'liquidjs';
import { REGION_CLOSE, REGION_OPEN } from './template-marks.ts';

/** Neighbouring templates that vary, with static ones inside an address; and static texts. */
export function groupTemplates(templates: readonly Template[]): (string | Template[])[] {
  const groups: (string | Template[])[] = [];
  let open: Template[] | undefined;
  for (const template of templates) {
    const text = staticText(template);
    if (open !== undefined) {
      open.push(template);
      if (text?.includes(REGION_CLOSE) && !endsOpen(text)) open = undefined;
    } else if (text !== undefined && !endsOpen(text)) {
      groups.push(...splitRegions(text, template));
    } else {
      const group = [template];
      groups.push(group);
      if (text !== undefined) open = group;
    }
  }
  return groups;
}

/** A text is static unless a whole address with Liquid is in it (inside a raw block, for example). */
function splitRegions(text: string, template: Template): (string | Template[])[] {
  return text.includes(REGION_OPEN) ? [[template]] : [text];
}

function endsOpen(text: string): boolean {
  return text.lastIndexOf(REGION_OPEN) > text.lastIndexOf(REGION_CLOSE);
}

/** The text of a template that the library keeps as it is, white space control applied; else undefined. */
function staticText(template: Template): string | undefined {
  const { token } = template;
  if (token.kind !== TokenKind.HTML || !('getContent' in token)) return undefined;
  const text: unknown = typeof token.getContent === 'function' ? token.getContent() : undefined;
  return typeof text === 'string' ? text : undefined;
}
