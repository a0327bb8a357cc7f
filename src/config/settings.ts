/**
 * All settings of the environment, which is what a process needs to start: name, default, allowed values and purpose, on one
 * page. The manual's table is made from it (`npm run manual`). Settings that change while the program runs:
 * src/domain/installation/settings.ts.
 */
import path from 'node:path';
import { z } from 'zod';
import { parseRateLimit, type RateLimit } from '../lib/rate-limit.ts';
import {
  absolutePaths,
  listOf,
  numberFrom,
  oneOf,
  orEmpty,
  orNone,
  orNull,
  type SettingKind,
} from '../lib/setting-kind.ts';
import { PUBLIC_KEY_PATTERN } from '../lib/signature.ts';
import { withoutTrailing } from '../lib/without-trailing.ts';

const port = numberFrom(0, 65_535);
const onOff = oneOf('on', 'off');

const roles = listOf(z.enum(['web', 'worker', 'cron']), { each: 'one or more of web, worker and cron', min: 1 });

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const networks = listOf(network, { each: 'addresses and networks (CIDR)' });
/** A name has no slash, no port, and a letter in its last part (RFC 3696 2): digits only would be an IP address. */
const HOST_NAME = /^(?=.{1,253}$)([\w-]{1,63}\.)*(?!\d+$)[\w-]{1,63}\.?$/;
const hosts = listOf(
  z.string().refine((text) => network.safeParse(text).success || HOST_NAME.test(text)),
  { each: 'hosts, addresses and networks (CIDR)' },
);

/** As browsers send them: without a path, in lower case, without the usual port. */
const origins = listOf(
  z.string().refine((text) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text),
  { each: 'origins, such as https://app.example.com' },
);

const rateLimit: SettingKind<RateLimit> = {
  schema: z.string().transform((text, context) => {
    const limit = parseRateLimit(text);
    if (limit !== undefined) return limit;
    context.addIssue({ code: 'custom', input: text });
    return z.NEVER;
  }),
  allowed: 'requests per time, such as 60/1m, 1000/1h or 10/30s',
};

const mailDomain: SettingKind<string> = {
  schema: z
    .string()
    .regex(/^(?=.{4,180}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i)
    .transform((text) => text.toLowerCase()),
  allowed: 'a domain, such as bounces.example.com',
};

/** An address, with or without a port; IPv6 with a port is in brackets. */
const dnsServers = listOf(
  z.string().refine((text) => {
    const [, bracketed, plain = text, number] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
    return z.union([z.ipv4(), z.ipv6()]).safeParse(bracketed ?? plain).success && Number(number ?? 53) <= 65_535;
  }),
  { each: 'addresses of DNS servers' },
);

const spfTerms = listOf(z.string().regex(/^(include|a|mx|ip4|ip6|exists):[\w.:/%{}-]+$/i), {
  each: 'SPF terms, such as include:spf.example.com',
  separator: ' ',
});

const url: SettingKind<string> = {
  schema: z.url({ protocol: /^https?$/ }).transform((text) => withoutTrailing(text, /\//)),
  allowed: 'a URL that begins with http:// or https://',
};
const databaseUrl: SettingKind<string> = {
  schema: z.string().regex(/^postgres(ql)?:\/\//),
  allowed: 'a URL that begins with postgresql://',
};
const email: SettingKind<string> = { schema: z.email(), allowed: 'an e-mail address' };
const listenAddress: SettingKind<string> = { schema: z.string().min(1), allowed: 'an address or a host name' };
const password: SettingKind<string> = {
  schema: z.string().min(8).max(128),
  allowed: 'a text of 8 to 128 characters',
};
const apiToken: SettingKind<string> = {
  schema: z.string().regex(/^[A-Za-z0-9]{40,100}$/),
  allowed: '40 to 100 letters (a to z, A to Z) and digits',
};
const secret: SettingKind<string> = { schema: z.string().min(32), allowed: 'a text of at least 32 characters' };
const publicKeys = listOf(z.string().regex(PUBLIC_KEY_PATTERN), { each: 'Ed25519 public keys (32 bytes in base64)' });
const folder: SettingKind<string> = {
  schema: z
    .string()
    .min(1)
    .transform((text) => path.resolve(text)),
  allowed: 'a path',
};
const workerCount = numberFrom(1, 64);
const workers: SettingKind<number | 'auto'> = {
  schema: z.union([z.literal('auto'), workerCount.schema]),
  allowed: `auto or ${workerCount.allowed}`,
};

export const settings = {
  PORT: { kind: port, default: '3000', about: 'TCP port of the web server; 0 takes a free one.' },
  HOST: {
    kind: listenAddress,
    default: '127.0.0.1',
    about: 'Address the web server listens on; `0.0.0.0` for all.',
  },
  BASE_URL: {
    kind: orEmpty(url),
    default: '',
    about:
      'The address by which this installation is reached from outside; it is in every link of every mail. Empty: `http://HOST:PORT`.',
  },
  HSTS_SUBDOMAINS: {
    kind: onOff,
    default: 'off',
    about:
      'If BASE_URL begins with https://, browsers are told to use only https for this host (HSTS). `on`: also for all its subdomains; each of them then needs https for two years.',
  },
  TRUSTED_PROXIES: {
    kind: networks,
    default: '',
    about: 'Reverse proxies whose `X-Forwarded-For` header is trusted.',
  },
  METRICS_TOKEN: {
    kind: orEmpty(secret),
    default: '',
    about: 'Opens `/metrics` to requests with `Authorization: Bearer` and this text.',
  },
  METRICS_ALLOW: {
    kind: networks,
    default: '',
    about:
      'Opens `/metrics` to these addresses, also without a token. Without METRICS_TOKEN and METRICS_ALLOW it is closed.',
  },
  RATE_LIMIT: {
    kind: orNull(rateLimit),
    default: '',
    about: 'Requests to REST and GraphQL that one token may make; counted over all processes. Empty: no limit.',
  },
  RATE_LIMIT_STRANGERS: {
    kind: orNull(rateLimit),
    default: '',
    about: 'The same for requests without a valid token, by address. Empty: as `RATE_LIMIT`.',
  },
  CORS_ORIGINS: {
    kind: origins,
    default: '',
    about:
      'Origins of web pages elsewhere that may call REST and GraphQL with a token, such as `https://app.example.com`. Cookies do not work there. They may also show previews and web views in a frame. `/api/v1/public` may be called by all pages.',
  },
  OUTBOUND_ALLOW_HOSTS: {
    kind: hosts,
    default: '',
    about: 'Private hosts and networks that may be reached for customers; all other private addresses are refused.',
  },
  SENDING_PROGRAMS: {
    kind: orNone(absolutePaths),
    default: '/usr/sbin/sendmail,/usr/lib/sendmail',
    about:
      'Programs that sending servers of administrators may start (types `sendmail` and `php-mail`). `none`: there are no such servers.',
  },
  SAFE_MODE: {
    kind: oneOf('0', '1'),
    default: '0',
    about:
      '1 starts without the code of plugins that you have added, so that you can deactivate one that does harm. The plugins of the product run.',
  },
  PLUGIN_CHECKSUM: {
    kind: oneOf('required', 'optional'),
    default: 'required',
    about:
      '`required`: a plugin is installed from an address only with its SHA-256 checksum. `optional`: also without.',
  },
  PLUGIN_KEYS: {
    kind: publicKeys,
    default: '',
    about: 'Installed plugins must be signed by one of these keys. Empty: they need no signature.',
  },
  RELEASE_KEYS: {
    kind: publicKeys,
    default: '',
    about: 'A newer version of the program must be signed by one of these keys. Empty: upgrades by the API are off.',
  },
  LICENSE: {
    kind: orEmpty({ schema: z.string().min(1), allowed: 'a path, or a URL' }),
    default: '',
    about: 'The license document: a file, or its address. A license limits nothing. Empty: the community edition.',
  },
  LICENSE_KEYS: {
    kind: publicKeys,
    default: '',
    about: 'A license must be signed by one of these keys.',
  },
  DATA_DIR: {
    kind: folder,
    default: 'data',
    about: 'Folder for the data of the program: the embedded database and the secret.',
  },
  DATABASE_URL: {
    kind: orEmpty(databaseUrl),
    default: '',
    about: 'A PostgreSQL 15 or later of your own. Empty: an embedded one under DATA_DIR.',
  },
  ROLES: {
    kind: roles,
    default: 'web,worker,cron',
    about: 'What this process does.',
  },
  ADMIN_EMAIL: { kind: email, default: 'admin@example.com', about: 'First start only: the first administrator.' },
  ADMIN_PASSWORD: {
    kind: orEmpty(password),
    default: '',
    about: 'First start only: the password of that administrator. Empty: one is made and shown once.',
  },
  ADMIN_API_TOKEN: {
    kind: orEmpty(apiToken),
    default: '',
    about: 'First start only: the API token of that administrator. Empty: one is made and shown once.',
  },
  APP_SECRET: {
    kind: orEmpty(secret),
    default: '',
    about:
      'All keys (for encrypted credentials and signed links) are made from it; it must be the same for all processes. Empty: one is made once and kept in DATA_DIR.',
  },
  REST_DIALECT: {
    kind: oneOf('standard', 'classic'),
    default: 'standard',
    about: 'The dialect of REST answers if neither the request nor the token sets one.',
  },
  INBOX: {
    kind: oneOf('auto', 'on', 'off'),
    default: 'auto',
    about: 'The built-in development inbox: `auto` runs it only while no other sending server exists.',
  },
  INBOX_SMTP_PORT: { kind: port, default: '2525', about: 'Loopback port of the inbox; 0 takes a free one.' },
  GRAPHQL_EXPLORER: {
    kind: onOff,
    default: 'on',
    about: 'Serves browsers the GraphQL explorer at `/graphql/explorer`, and at `/graphql` a page that leads there.',
  },
  GEOIP_FILE: {
    kind: orEmpty(folder),
    default: '',
    about:
      'A database file in MaxMind format (`.mmdb`, cities or countries) for the places of opens and clicks; it is read again when it changes. Empty: places are unknown.',
  },
  LOG_LEVEL: {
    kind: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    about: 'The least important events that are logged.',
  },
  LOG_FORMAT: {
    kind: oneOf('auto', 'json', 'pretty'),
    default: 'auto',
    about:
      '`json`: one JSON object on each line; `pretty`: readable lines; `auto`: `pretty` on a terminal, otherwise `json`.',
  },
  DB_POOL_SIZE: {
    kind: numberFrom(4, 500),
    default: '20',
    about:
      'Database connections of this process, at most. With the role `web`, half of them are for requests; then there are at least six for requests and four for other work.',
  },
  WORKER_CONCURRENCY: {
    kind: numberFrom(1, 100),
    default: '4',
    about: 'Jobs of one customer that a process runs at the same time; one more place is reserved for other customers.',
  },
  WORKERS: {
    kind: workers,
    default: '1',
    about:
      'Number of worker processes on this machine, including the program itself; `auto`: one per core. The program starts and watches the others.',
  },
  STOP_GRACE_SECONDS: {
    kind: numberFrom(1, 3_600),
    default: '30',
    about:
      'How long SIGTERM waits for running SMTP dialogues and requests. Messages still open then are settled when their lease ends (`SEND_LEASE_SECONDS`). Ctrl-C waits 7 seconds at most.',
  },
  SEND_BATCH_SIZE: { kind: numberFrom(10, 10_000), default: '500', about: 'Recipients a sending job takes at once.' },
  SEND_ATTEMPTS_MAX: {
    kind: numberFrom(1, 100),
    default: '20',
    about: 'Tries per recipient before a temporary refusal becomes a failure (20 tries span about two days).',
  },
  SEND_RETRY_DELAY_SECONDS: {
    kind: numberFrom(1, 3_600),
    default: '15',
    about: 'Wait before the second try of a temporarily refused recipient; it doubles with each try, up to 6 hours.',
  },
  SEND_LEASE_SECONDS: {
    kind: numberFrom(2, 3_600),
    default: '45',
    about:
      'How long a worker that does not answer keeps a recipient. After a crash, messages with an unknown outcome are settled after this time.',
  },
  AUDIENCE_BATCH_SIZE: {
    kind: numberFrom(100, 100_000),
    default: '10000',
    about: 'Recipients written to the ledger in one transaction when a campaign starts.',
  },
  IMPORT_BATCH_SIZE: {
    kind: numberFrom(100, 100_000),
    default: '20000',
    about: 'Lines of an import file written in one transaction; more than 50000 count as 50000.',
  },
  IMPORT_SIZE_MAX_MB: { kind: numberFrom(1, 10_000), default: '500', about: 'Largest import file, in megabytes.' },
  FILE_SIZE_MAX_MB: {
    kind: numberFrom(1, 1_000),
    default: '100',
    about: 'Largest uploaded file, in megabytes; plans may allow less.',
  },
  EVENT_RETENTION_DAYS: {
    kind: numberFrom(8, 3_650),
    default: '30',
    about: 'For how many days the event record is kept, from which plugins and other followers read what happened.',
  },
  BOUNCE_DOMAIN: {
    kind: orEmpty(mailDomain),
    default: '',
    about:
      'Domain of the return-paths by which bounces are recognised (`bounce+<token>@BOUNCE_DOMAIN`); its mail must reach a bounce mailbox or BOUNCE_SMTP_PORT. Empty: bounces go to the address of the sender.',
  },
  BOUNCE_SMTP_PORT: {
    kind: orNull(port),
    default: '',
    about:
      'TCP port of the SMTP server that accepts only bounces and complaints for BOUNCE_DOMAIN; the MX record of the domain must lead there. 0 takes a free one. Empty: none.',
  },
  BOUNCE_SMTP_HOST: {
    kind: listenAddress,
    default: '0.0.0.0',
    about: 'Address on which that server listens.',
  },
  DNS_SERVERS: {
    kind: dnsServers,
    default: '',
    about:
      'DNS servers for checking sending domains, with a port if it is not 53 (`192.0.2.53`, `[2001:db8::53]:5353`). Empty: those of the system.',
  },
  SPF_TERMS: {
    kind: spfTerms,
    default: '',
    about:
      'SPF terms that allow the servers this installation sends through, such as `include:spf.example.com ip4:192.0.2.7`; customers are told to add them to their SPF records. Empty: `a:` and the host of BASE_URL.',
  },
} as const;

/**
 * Variables of earlier versions whose settings are now in the database (src/domain/installation/settings.ts) under the same name.
 * If one is still set the program does not start, because nothing would read it.
 */
export const movedToDatabase: readonly string[] = [
  'MAINTENANCE',
  'SESSION_IDLE_DAYS',
  'SESSION_DAYS_MAX',
  'SOFT_BOUNCE_LIMIT',
  'SOFT_BOUNCE_DAYS',
  'BOUNCE_PAUSE_PERCENT',
  'BOUNCE_PAUSE_RECIPIENTS',
  'FROM_ADDRESSES',
  'MAIL_FROM',
  'BILLING_GRACE_DAYS',
  'OFFLINE_PAYMENT_INSTRUCTIONS',
  'KEEP_LEDGER_MONTHS',
  'KEEP_EVENTS_MONTHS',
];

export type SettingName = keyof typeof settings;
export type Settings = { readonly [Name in SettingName]: z.output<(typeof settings)[Name]['kind']['schema']> };
