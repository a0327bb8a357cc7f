/** What a browser sees at `/`: where everything is. */
import { escapeHtml } from '../lib/html.ts';
import { htmlPage } from '../lib/html-page.ts';
import type { Mount } from './http-server.ts';
import { pageMount } from './page-mount.ts';

export interface LandingLink {
  readonly href: string;
  readonly label: string;
  readonly about: string;
}

/** The page at `/`, with the links given. Texts are escaped. */
export function landingMount(title: string, links: readonly LandingLink[]): Mount {
  const items = links.map(
    ({ href, label, about }) =>
      `<li><a href="${escapeHtml(href)}">${escapeHtml(label)}</a> – ${escapeHtml(about)}</li>`,
  );
  return pageMount('/', htmlPage(title, `<h1>${escapeHtml(title)}</h1>\n<ul>\n${items.join('\n')}\n</ul>`));
}
