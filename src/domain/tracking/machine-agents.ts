/**
 * How programs identify themselves in User-Agent: link scanners of mail gateways, previews of messengers, crawlers, libraries,
 * headless browsers. Parts of the text, compared without case, `\b` as in regular expressions. Names from the makers' documents
 * or public lists of robots; similar names of people's programs are excluded (the Telegram app, the image proxies of Gmail and
 * Yahoo, which load images when a person reads).
 */
export const MACHINE_AGENTS: readonly string[] = [
  // Crawlers and previews.
  ...['bot\\b', 'bot/', 'crawl', 'spider', 'slurp', 'bingpreview', 'linkpreview', 'link preview', 'skypeuripreview'],
  ...['facebookexternalhit', 'whatsapp/', 'slack-imgproxy', 'embedly', 'feedfetcher', 'scanner', 'validator'],
  ...['uptime', 'pingdom', 'statuscake', 'monitoring'],
  // Mail gateways and link scanners.
  ...['barracuda', 'proofpoint', 'mimecast', 'forcepoint', 'fireeye', 'trendmicro', 'trend micro', 'symantec'],
  ...['messagelabs', 'ironport', 'ciscosecureemail', 'sophos', 'fortinet', 'zscaler', 'safelinks', 'trustwave'],
  ...['virustotal', 'urlscan', 'checkpoint'],
  // Browsers without a user.
  ...['headless', 'phantomjs', 'puppeteer', 'playwright', 'selenium'],
  // Libraries.
  ...['curl/', 'wget/', 'python-', 'aiohttp', 'httpx', 'go-http-client', 'okhttp', 'apache-httpclient', 'java/'],
  ...[
    'libwww',
    'lwp::',
    '\\bruby\\b',
    'php/',
    'guzzle',
    'axios',
    'node-fetch',
    'undici',
    '^node$',
    'postman',
    'powershell',
  ],
];

/** Complete texts: the privacy proxy of a large mail client sends only the first. */
export const MACHINE_AGENTS_WHOLE: readonly string[] = ['', 'Mozilla/5.0', 'Mozilla/4.0', 'Mozilla'];
