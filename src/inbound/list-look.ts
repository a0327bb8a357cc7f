/** How a list looks on its public pages: its logo, and its color on headings and buttons, always readable. */
import { html, type Html } from '../lib/html.ts';

export interface ListLook {
  readonly listName: string;
  /** `#rrggbb`. */
  readonly color: string | null;
  /** Its place below `/files/`. */
  readonly logo: string | null;
}

/** Backgrounds of the pages, in light and dark. */
export const PAPER = { light: '#ffffff', dark: '#16161a' };
/** WCAG 2.2, 1.4.3. */
const CONTRAST_MIN = 4.5;

/** The style sheet of a color: texts that would be hard to read in it keep theirs. */
export function styleOfColor(color: string): string {
  const onButton = contrast(color, '#ffffff') >= contrast(color, '#000000') ? '#ffffff' : '#000000';
  const headingOn = (paper: string) =>
    contrast(color, paper) >= CONTRAST_MIN ? `h1 { color: ${color}; }` : 'h1 { color: inherit; }';
  // The border is for buttons of the color of the page.
  return `
${headingOn(PAPER.light)}
button { background: ${color}; color: ${onButton}; border: 1px solid ${onButton}; }
@media (prefers-color-scheme: dark) { ${headingOn(PAPER.dark)} }
`;
}

/** Above the heading. */
export function logoOf({ logo, listName }: ListLook): Html | undefined {
  return logo === null ? undefined : html`<img class="logo" src="/files/${logo}" alt="${listName}">`;
}

/** From 1 to 21 (WCAG 2.2, contrast ratio). */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
