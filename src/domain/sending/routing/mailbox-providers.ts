/**
 * Which domains belong to one provider: its replies about one domain apply to all, because the same machines send them. Data
 * only. Domains of others that are hosted there are recognised by their MX.
 */

export interface MailboxProvider {
  /** Its name in limits, health and logs; it has no dot, so no domain has this name. */
  readonly name: string;
  readonly domains: readonly string[];
  /** Endings of its customers' MX host names, with the dot. */
  readonly mxEndings: readonly string[];
}

export const mailboxProviders: readonly MailboxProvider[] = [
  {
    name: 'google',
    domains: ['gmail.com', 'googlemail.com', 'google.com'],
    mxEndings: ['.l.google.com', '.google.com', '.googlemail.com'],
  },
  {
    name: 'microsoft',
    domains: [
      ...['outlook.com', 'hotmail.com', 'live.com', 'msn.com', 'passport.com', 'windowslive.com'],
      ...[
        'outlook.de',
        'outlook.fr',
        'outlook.es',
        'outlook.it',
        'outlook.at',
        'outlook.be',
        'outlook.dk',
        'outlook.ie',
      ],
      ...['outlook.jp', 'outlook.kr', 'outlook.com.br', 'outlook.com.au', 'outlook.com.tr', 'outlook.cz', 'outlook.hu'],
      ...[
        'hotmail.de',
        'hotmail.fr',
        'hotmail.es',
        'hotmail.it',
        'hotmail.co.uk',
        'hotmail.be',
        'hotmail.nl',
        'hotmail.se',
      ],
      ...[
        'hotmail.ch',
        'hotmail.ca',
        'hotmail.com.br',
        'hotmail.com.ar',
        'hotmail.co.jp',
        'hotmail.com.tr',
        'hotmail.gr',
      ],
      ...['live.de', 'live.fr', 'live.it', 'live.nl', 'live.se', 'live.be', 'live.at', 'live.ca', 'live.dk', 'live.no'],
      ...['live.co.uk', 'live.com.au', 'live.com.mx', 'live.com.ar', 'live.com.pt', 'live.jp', 'live.cn'],
    ],
    mxEndings: ['.protection.outlook.com', '.olc.protection.outlook.com', '.mx.microsoft'],
  },
  {
    name: 'yahoo',
    domains: [
      ...[
        'yahoo.com',
        'ymail.com',
        'rocketmail.com',
        'myyahoo.com',
        'aol.com',
        'aim.com',
        'netscape.net',
        'verizon.net',
      ],
      ...[
        'yahoo.de',
        'yahoo.fr',
        'yahoo.it',
        'yahoo.es',
        'yahoo.ca',
        'yahoo.in',
        'yahoo.ie',
        'yahoo.gr',
        'yahoo.se',
        'yahoo.no',
      ],
      ...['yahoo.co.uk', 'yahoo.co.in', 'yahoo.co.id', 'yahoo.com.br', 'yahoo.com.au', 'yahoo.com.mx', 'yahoo.com.ar'],
      ...['yahoo.com.sg', 'yahoo.com.ph', 'yahoo.com.hk', 'yahoo.com.tw', 'yahoo.com.vn', 'yahoo.com.tr', 'yahoo.ro'],
      ...['aol.de', 'aol.fr', 'aol.co.uk', 'aol.it', 'aol.es'],
    ],
    mxEndings: ['.yahoodns.net'],
  },
  { name: 'apple', domains: ['icloud.com', 'me.com', 'mac.com'], mxEndings: ['.mail.icloud.com'] },
  {
    name: 'united-internet',
    domains: [
      'gmx.de',
      'gmx.net',
      'gmx.at',
      'gmx.ch',
      'gmx.com',
      'gmx.org',
      'gmx.fr',
      'gmx.co.uk',
      'web.de',
      'mail.com',
      'email.com',
    ],
    mxEndings: ['.gmx.net', '.web.de', '.mail.com'],
  },
  { name: 't-online', domains: ['t-online.de', 'magenta.de'], mxEndings: ['.t-online.de'] },
  { name: 'proton', domains: ['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'], mxEndings: ['.protonmail.ch'] },
  {
    name: 'zoho',
    domains: ['zoho.com', 'zohomail.com', 'zohomail.eu'],
    mxEndings: ['.zoho.com', '.zoho.eu', '.zoho.in'],
  },
  { name: 'fastmail', domains: ['fastmail.com', 'fastmail.fm', 'sent.com'], mxEndings: ['.messagingengine.com'] },
  { name: 'mail-ru', domains: ['mail.ru', 'inbox.ru', 'list.ru', 'bk.ru', 'internet.ru'], mxEndings: ['.mail.ru'] },
  {
    name: 'yandex',
    domains: ['yandex.ru', 'yandex.com', 'ya.ru', 'yandex.by', 'yandex.kz'],
    mxEndings: ['.yandex.ru', '.yandex.net'],
  },
  { name: 'orange', domains: ['orange.fr', 'wanadoo.fr'], mxEndings: ['.orange.fr'] },
  { name: 'free', domains: ['free.fr', 'libertysurf.fr'], mxEndings: ['.free.fr'] },
  { name: 'laposte', domains: ['laposte.net'], mxEndings: ['.laposte.net'] },
  { name: 'libero', domains: ['libero.it', 'virgilio.it', 'inwind.it', 'iol.it'], mxEndings: ['.libero.it'] },
  { name: 'comcast', domains: ['comcast.net', 'xfinity.com'], mxEndings: ['.comcast.net', '.mxge.comcast.net'] },
  { name: 'qq', domains: ['qq.com', 'foxmail.com'], mxEndings: ['.qq.com'] },
  { name: 'netease', domains: ['163.com', '126.com', 'yeah.net'], mxEndings: ['.netease.com', '.mail.163.com'] },
  { name: 'proofpoint', domains: [], mxEndings: ['.pphosted.com', '.ppe-hosted.com'] },
  { name: 'mimecast', domains: [], mxEndings: ['.mimecast.com', '.mimecast.co.za'] },
  { name: 'barracuda', domains: [], mxEndings: ['.barracudanetworks.com'] },
  { name: 'cisco', domains: [], mxEndings: ['.iphmx.com'] },
  { name: 'ovh', domains: [], mxEndings: ['.mail.ovh.net'] },
  { name: 'ionos', domains: [], mxEndings: ['.ionos.de', '.ionos.com', '.ionos.co.uk'] },
];
