/**
 * The html that the built-in templates share. One column of at most 600 px, in tables for Outlook on Windows; system fonts; styles
 * stand in the elements, because several mail programs drop the style sheet. The sheet has only what cannot stand there: dark
 * colours and narrow screens. Nothing is loaded from elsewhere. Every text has a contrast of at least 4.5 in both colour schemes.
 */

const FONT = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const INK = '#1f2933';
const MUTED = '#52606d';
const PAGE = '#f2f4f7';
const CARD = '#ffffff';
const LINE = '#d5dae1';
const LINK = '#1d4ed8';
const BUTTON = '#1d4ed8';

/**
 * What the product adds to marketing mail (footer.ts) has the role `contentinfo`. `[data-ogsc]` and `[data-ogsb]` are how Outlook on the web marks text and backgrounds in its dark mode.
 */
const SHEET = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #14171c !important; }
  .card { background: #1f242c !important; }
  .ink { color: #e6e9ee !important; }
  .muted { color: #aab4c0 !important; }
  .link { color: #9ec1ff !important; }
  .line { border-color: #3a424e !important; }
  div[role=contentinfo], div[role=contentinfo] a { color: #aab4c0 !important; }
}
[data-ogsb] .page { background: #14171c !important; }
[data-ogsb] .card { background: #1f242c !important; }
[data-ogsc] .ink { color: #e6e9ee !important; }
[data-ogsc] .muted { color: #aab4c0 !important; }
[data-ogsc] .link { color: #9ec1ff !important; }
@media (max-width: 480px) {
  .pad { padding-left: 20px !important; padding-right: 20px !important; }
  .outer { padding: 0 !important; }
}`;

export interface Frame {
  /** Shown by screen readers and in browsers. */
  readonly title: string;
  /** `card`: a white sheet with the sender's name above it. `letter`: nothing but the text. */
  readonly look: 'card' | 'letter';
  /** The html of the column, and of what stands below it in small print. */
  readonly body: readonly string[];
  readonly foot: readonly string[];
}

/** The whole html of a template. */
export function page({ title, look, body, foot }: Frame): string {
  const isCard = look === 'card';
  const [paper, edge] = isCard ? ['page', `padding:24px 12px;background:${PAGE}`] : ['card', `background:${CARD}`];
  const sheet = isCard ? `background:${CARD};border:1px solid ${LINE};border-radius:8px` : `background:${CARD}`;
  const margin = isCard ? '32px' : '24px';
  return `<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>${title}</title>
<style>${SHEET}
</style>
</head>
<body class="${paper}" style="margin:0;padding:0;${isCard ? `background:${PAGE}` : `background:${CARD}`}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="${paper}"><tr>
<td class="${paper} outer" align="${isCard ? 'center' : 'left'}" style="${edge}">
<!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px">
${isCard ? sender() : ''}<tr><td class="card line pad" style="padding:${margin} ${margin} 16px;${sheet}">
<div role="main">
${body.join('\n')}
</div>
</td></tr>
<tr><td class="pad" style="padding:16px ${margin} 24px">
${foot.join('\n')}
</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body>
</html>
`;
}

function sender(): string {
  return `<tr><td class="pad" style="padding:16px 32px 12px">
<p class="ink" style="margin:0;font:bold 16px/1.4 ${FONT};color:${INK}">{CAMPAIGN_FROM_NAME}</p>
</td></tr>
`;
}

export function heading(text: string): string {
  return `<h1 class="ink" style="margin:0 0 16px;font:bold 26px/1.25 ${FONT};color:${INK}">${text}</h1>`;
}

export function subheading(text: string): string {
  return `<h2 class="ink" style="margin:0 0 8px;font:bold 20px/1.3 ${FONT};color:${INK}">${text}</h2>`;
}

export function paragraph(text: string): string {
  return `<p class="ink" style="margin:0 0 16px;font:16px/1.55 ${FONT};color:${INK}">${text}</p>`;
}

export function link(text: string, address: string): string {
  return `<a class="link" href="${address}" style="color:${LINK};text-decoration:underline">${text}</a>`;
}

/** A link as a button. The cell has the colour, so that it looks so in Outlook on Windows, too. */
export function button(text: string, address: string): string {
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 24px"><tr>
<td bgcolor="${BUTTON}" style="background:${BUTTON};border-radius:6px;mso-padding-alt:12px 24px">
<a href="${address}" style="display:inline-block;padding:12px 24px;font:bold 16px/1.25 ${FONT};color:#ffffff;text-decoration:none">${text}</a>
</td></tr></table>`;
}

export function rule(): string {
  return `<hr class="line" style="margin:24px 0;border:0;border-top:1px solid ${LINE}">`;
}

/** Small print. */
export function note(text: string): string {
  return `<p class="muted" style="margin:0 0 8px;font:13px/1.5 ${FONT};color:${MUTED}">${text}</p>`;
}

/** Cells of a table of figures: the last column stands on the right. */
export function row(cells: readonly string[], { isHead = false }: { isHead?: boolean } = {}): string {
  const tag = isHead ? 'th' : 'td';
  const line = `border-bottom:1px solid ${LINE};font:${isHead ? 'bold 14px' : '16px'}/1.4 ${FONT};color:${INK}`;
  const written = cells.map((cell, at) => {
    const isLast = at > 0 && at === cells.length - 1;
    const align = isLast ? 'right' : 'left';
    const space = `padding:8px ${isLast ? 0 : 12}px 8px 0${isLast ? ';white-space:nowrap' : ''}`;
    return `<${tag}${isHead ? ' scope="col"' : ''} class="ink line" align="${align}" valign="top" style="${space};${line};text-align:${align}">${cell}</${tag}>`;
  });
  return `<tr>${written.join('')}</tr>`;
}

export function table(rows: readonly string[]): string {
  return `<table width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 24px;border-collapse:collapse">
${rows.join('\n')}
</table>`;
}

/** Who writes and from where, and the way out: the law asks for both in marketing mail. */
export const MARKETING_FOOT: readonly string[] = [
  note(
    '{CONTACT_COMPANY}<br>{CONTACT_ADDRESS_1}, {CONTACT_ZIP} {CONTACT_CITY}<br>You get this mail because you are on the list “{LIST_NAME}”.',
  ),
  note(
    `${mutedLink('Unsubscribe', '{UNSUBSCRIBE_URL}')} &nbsp; ${mutedLink('Change your details', '{UPDATE_PROFILE_URL}')} &nbsp; ${mutedLink('Read in the browser', '{WEB_VIEW_URL}')}`,
  ),
];

function mutedLink(text: string, address: string): string {
  return `<a class="muted" href="${address}" style="color:${MUTED};text-decoration:underline">${text}</a>`;
}
