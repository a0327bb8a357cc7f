/** What a browser sees at `/`: where everything is. */
import type { Mount } from './http-server.ts';
import { sendJson } from './send-json.ts';

export interface LandingLink {
  readonly href: string;
  readonly label: string;
  readonly about: string;
}

/** The page at `/`, with the links given. Texts are escaped. */
export function landingMount(title: string, links: readonly LandingLink[]): Mount {
  const page = html(title, links);
  return {
    prefix: '/',
    exact: true,
    handle(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') {
        res.setHeader('Allow', 'GET, HEAD');
        return sendJson(res, 405, { message: 'Only GET is answered here.' });
      }
      res.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
      res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': Buffer.byteLength(page) });
      res.end(page);
    },
  };
}

function html(title: string, links: readonly LandingLink[]): string {
  const items = links.map(
    ({ href, label, about }) => `<li><a href="${escaped(href)}">${escaped(label)}</a> – ${escaped(about)}</li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>body{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<ul>
${items.join('\n')}
</ul>
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
