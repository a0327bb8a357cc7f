/**
 * What programs say of themselves in User-Agent: link scanners of mail gateways, previews of messengers, crawlers,
 * libraries, headless browsers. Parts of the text, compared without case, `\b` as in regular expressions. Names are
 * those that the makers document or that stand in public lists of robots; people's programs whose names come near are
 * left out (the Telegram app, the image proxies of Gmail and Yahoo, which fetch when somebody reads).
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
  // Browsers that nobody looks at.
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

/** The whole text of some: the privacy proxy of a large mail client says the first and no more. */
export const MACHINE_AGENTS_WHOLE: readonly string[] = ['', 'Mozilla/5.0', 'Mozilla/4.0', 'Mozilla'];
