/** What a browser sees at `/`: whether the installation works, what to do next, and where everything is. */
import type { IncomingMessage } from 'node:http';
import { html, Html } from '../lib/html.ts';
import { htmlPage } from '../lib/html-page.ts';
import type { Exchange } from './exchange.ts';
import type { Mount } from './http-server.ts';
import { sendOwnPage } from './own-page.ts';
import { sendJson } from './send-json.ts';

export interface LandingLink {
  readonly href: string;
  readonly label: string;
  readonly about: string;
}

/** A sentence about the state of the installation, or what to do. */
export interface LandingNote {
  readonly text: string;
  /** The command or address that belongs to it. */
  readonly code?: string;
}

export interface LandingState {
  /** Who looks: `stranger` sees no details. */
  readonly viewer: 'stranger' | 'user' | 'administrator';
  readonly notes: readonly LandingNote[];
  readonly steps: readonly LandingNote[];
}

export interface LandingOptions {
  readonly title: string;
  readonly links: readonly LandingLink[];
  readonly stateFor: (req: IncomingMessage, exchange: Exchange) => Promise<LandingState>;
}

const VIEWERS = {
  stranger: 'You are not logged in.',
  user: 'You are logged in.',
  administrator: 'You are logged in as an administrator.',
} as const;

/** The page at `/`. Texts are escaped. */
export function landingMount({ title, links, stateFor }: LandingOptions): Mount {
  return {
    prefix: '/',
    exact: true,
    async handle(req, res, exchange) {
      if (req.method !== 'GET' && req.method !== 'HEAD') {
        res.setHeader('Allow', 'GET, HEAD');
        return sendJson(res, 405, { message: 'Only GET is answered here.' });
      }
      const page = pageOf({ title, links }, await stateFor(req, exchange));
      // It depends on who looks.
      res.setHeader('Cache-Control', 'no-store');
      sendOwnPage(res, 200, page);
    },
  };
}

function pageOf(
  { title, links }: Pick<LandingOptions, 'title' | 'links'>,
  { viewer, notes, steps }: LandingState,
): string {
  const linkItems = links.map(({ href, label, about }) => html`<li><a href="${href}">${label}</a> – ${about}</li>`);
  const main = html`<h1>${title}</h1>
<p>${VIEWERS[viewer]}</p>
${notesOf('State', 'ul', notes)}${notesOf('Next steps', 'ol', steps)}<h2>Where everything is</h2>
<ul>${linkItems}</ul>`;
  return htmlPage(title, main.text);
}

function notesOf(heading: string, list: 'ul' | 'ol', notes: readonly LandingNote[]): Html {
  if (notes.length === 0) return new Html('');
  const items = notes.map(
    ({ text, code }) => html`<li>${text}${code === undefined ? '' : html`<br><code>${code}</code>`}</li>`,
  );
  return html`<h2>${heading}</h2>
${new Html(`<${list}>`)}${items}${new Html(`</${list}>`)}
`;
}
