/** The frame of a plain HTML page: landing page, API reference. The caller escapes. */
import { escapeHtml } from './html.ts';

/** A whole page. `title` is text; `main` and `head` are HTML. */
export function htmlPage(title: string, main: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
:root{color-scheme:light dark;background:#fff;color:#1b1b1f}
a{color:#1a4fc4}
@media (prefers-color-scheme:dark){:root{background:#16161a;color:#ececf1}a{color:#9db8ff}}
body{overflow-wrap:anywhere;font:1rem/1.6 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1rem}
code{font:0.95em ui-monospace,monospace}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8884}
</style>${head}
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}
