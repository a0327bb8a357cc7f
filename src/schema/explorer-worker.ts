/**
 * The thread that makes the explorer's page, and ends: the package has nine megabytes of text that would cost a process 40 MB,
 * for a page that most processes never serve.
 */
import { createHash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { renderGraphiQL } from '@graphql-yoga/render-graphiql';

/** All that is needed to serve it. */
export interface ExplorerPage {
  readonly zipped: Uint8Array;
  readonly policy: string;
  readonly etag: string;
}

const GREETING = `# Welcome to Mailwright. Put your API token into the "Headers" tab below:
#   { "Authorization": "Bearer <token>" }
query Me {
  me {
    ... on User {
      email
      customer {
        name
      }
    }
    ... on Error {
      code
      message
    }
  }
}
`;

/** What the package's page lacks for phones, screen readers and weak eyes. */
const HEAD =
  '<meta name="viewport" content="width=device-width, initial-scale=1"><style>h1{position:absolute;clip-path:inset(50%)}</style>';
const ROOT = '<main><h1>GraphQL explorer</h1><div id="root"></div></main>';

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
parentPort?.postMessage(makePage());

function makePage(): ExplorerPage {
  const rendered = renderGraphiQL({ title: 'Mailwright', defaultQuery: GREETING, endpoint: '../graphql' }).trim();
  // Function forms: a `$` of the page is no pattern.
  const page = rendered.replace('</head>', () => `${HEAD}</head>`).replace('<div id="root"></div>', () => ROOT);
  const etag = `"${createHash('sha256').update(page).digest('base64url')}"`;
  return { zipped: gzipSync(page), policy: policyFor(page), etag };
}

function policyFor(page: string): string {
  const script = page.slice(page.indexOf('<script>') + '<script>'.length, page.lastIndexOf('</script>'));
  const digest = createHash('sha256').update(script).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'sha256-${digest}' blob:`,
    // The editor writes its styles into the page.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    'worker-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
