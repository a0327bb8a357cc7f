/** The captcha of sign-up pages: the ALTCHA widget and its parts, served by us; it calls nobody else. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { html, type Html } from '../lib/html.ts';
import type { Words } from './words.ts';

export interface CaptchaFile {
  readonly path: string;
  readonly contentType: string;
  read(): Promise<Buffer | string>;
}

const FOLDER = fileURLToPath(new URL('../', import.meta.resolve('altcha/external')));
const SCRIPT = 'text/javascript; charset=utf-8';
/** The widget's names of our languages; it has English itself. */
const LANGUAGES = { ar: 'ar', de: 'de', es: 'es-es', fr: 'fr-fr' } as const;

/** Starts the widget on the page, and removes the note for pages without script. The work is done in workers, so the page stays quick. */
const START = `import './altcha.js';
${Object.keys(LANGUAGES)
  .map((code) => `import './${code}.js';\n`)
  .join('')}
document.getElementById('needs-script')?.remove();
$altcha.algorithms.set('PBKDF2/SHA-256', () => new Worker('/captcha/pbkdf2.js', { type: 'module' }));
`;

export const captchaFiles: readonly CaptchaFile[] = [
  { path: '/captcha/start.js', contentType: SCRIPT, read: () => Promise.resolve(START) },
  file('altcha.js', 'external/altcha.min.js'),
  file('pbkdf2.js', 'workers/pbkdf2.js'),
  file('altcha.css', 'external/altcha.css', 'text/css; charset=utf-8'),
  ...Object.entries(LANGUAGES).map(([code, name]) => file(`${code}.js`, `i18n/${name}.js`)),
];

function file(name: string, source: string, contentType = SCRIPT): CaptchaFile {
  return { path: `/captcha/${name}`, contentType, read: () => readFile(path.join(FOLDER, source)) };
}

/** For the head of a page with the widget. */
export const captchaScripts = html`<link rel="stylesheet" href="/captcha/altcha.css">
<script type="module" src="/captcha/start.js"></script>`;

/** For the form. It works while the reader fills in the rest. */
export function captchaWidget(words: Words, listUid: string, faults: readonly string[] = []): Html {
  return html`<altcha-widget name="altcha" auto="onfocus" language="${words.language}" challenge="/api/v1/public/lists/${listUid}/captcha" configuration="${'{"hideFooter":true,"hideLogo":true}'}"></altcha-widget>
<p id="needs-script">${words.text('signUp.captcha.script')}</p>
${faults.length > 0 ? html`<p class="error" role="alert">${words.text('signUp.captcha.fault')}</p>` : undefined}`;
}
