/**
 * Tells programs from people by what they say of themselves. It marks, it never decides alone what counts: a scanner
 * that hides is not found, and a person behind a mail proxy is no machine. Names are compared without case.
 */

// Link scanners of mail gateways, link previews of messengers, crawlers, libraries and headless browsers.
const PROGRAMS = new RegExp(
  [
    'bot\\b',
    'bot/',
    'crawl',
    'spider',
    'slurp',
    'preview',
    'scanner',
    'monitor',
    'validator',
    'headless',
    'phantomjs',
    'barracuda',
    'proofpoint',
    'mimecast',
    'forcepoint',
    'fireeye',
    'trendmicro',
    'trend micro',
    'symantec',
    'messagelabs',
    'ironport',
    'sophos',
    'zscaler',
    'safelinks',
    'trustwave',
    'bitdefender',
    'kaspersky',
    'virustotal',
    'urlscan',
    'facebookexternalhit',
    'whatsapp',
    'skypeuripreview',
    'slack',
    'telegram',
    'embedly',
    'feedfetcher',
    'curl/',
    'wget/',
    'python-',
    'aiohttp',
    'httpx',
    'go-http-client',
    'okhttp',
    'apache-httpclient',
    'java/',
    'libwww',
    'lwp::',
    'ruby',
    'php/',
    'guzzle',
    'axios',
    'node-fetch',
    'undici',
    '^node$',
    'postman',
    'powershell',
  ].join('|'),
  'i',
);

export interface VisitFacts {
  readonly method: string;
  readonly userAgent: string | null;
  /** `Sec-Purpose` or the older `Purpose`, `X-Purpose` and `X-Moz`. */
  readonly purpose: string | null;
}

/** Whether this looks ahead for somebody (HEAD, prefetch), and whether a program rather than a person asks. */
export function judgeVisit({ method, userAgent, purpose }: VisitFacts): { looksAhead: boolean; isMachine: boolean } {
  const looksAhead = method === 'HEAD' || /prefetch|prerender|preview/i.test(purpose ?? '');
  return { looksAhead, isMachine: looksAhead || isProgram(userAgent?.trim() ?? '') };
}

/** Browsers say more than `Mozilla/5.0`; the privacy proxy of a large mail client says exactly that. */
function isProgram(userAgent: string): boolean {
  return userAgent === '' || userAgent === 'Mozilla/5.0' || PROGRAMS.test(userAgent);
}
