/**
 * Every setting of the installation: name, default, how it is read, and what it is for, on one page.
 * The manual's table is made from this one (`npm run settings`).
 */
import path from 'node:path';
import { z } from 'zod';
import { parseRateLimit } from '../lib/rate-limit.ts';
import { withoutTrailing } from '../lib/without-trailing.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const roles = ['web', 'worker', 'cron'] as const;

const roleList = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((role) => role.trim())
      .filter(Boolean),
  )
  .pipe(z.array(z.enum(roles)).min(1, 'must name a role'));

const words = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean),
);
const address = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: ({ input }) => `must be addresses and networks (CIDR), and ${JSON.stringify(input)} is neither`,
});
const proxies = words.pipe(z.array(address));
/** A name has no slash, no port, and a letter in its last part (RFC 3696 2): what looks like an address must be one. */
const HOST_NAME = /^(?=.{1,253}$)([\w-]{1,63}\.)*(?!\d+$)[\w-]{1,63}\.?$/;
const host = z.string().refine((text) => address.safeParse(text).success || HOST_NAME.test(text), {
  error: ({ input }) => `must be hosts, addresses and networks (CIDR), and ${JSON.stringify(input)} is none`,
});
const hosts = words.pipe(z.array(host));

const rateLimit = z.string().transform((text, context) => {
  const limit = text === '' ? null : parseRateLimit(text);
  if (limit !== undefined) return limit;
  context.addIssue({
    code: 'custom',
    message: 'must be requests per time, such as 60/1m, 1000/1h or 10/30s',
    input: text,
  });
  return z.NEVER;
});

const mailDomain = z
  .string()
  .regex(
    /^(?=.{4,180}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i,
    'must be a domain such as bounces.example.com',
  )
  .transform((text) => text.toLowerCase());

/** An address, with or without a port; IPv6 with a port stands in brackets. */
const dnsServer = z.string().refine(
  (text) => {
    const [, bracketed, plain = text, port] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
    return z.union([z.ipv4(), z.ipv6()]).safeParse(bracketed ?? plain).success && Number(port ?? 53) <= 65_535;
  },
  { error: ({ input }) => `must be addresses of DNS servers, and ${JSON.stringify(input)} is none` },
);
const dnsServers = words.pipe(z.array(dnsServer));

const spfTerms = z
  .string()
  .transform((text) => text.split(/\s+/).filter(Boolean))
  .pipe(
    z.array(
      z.string().regex(/^(include|a|mx|ip4|ip6|exists):[\w.:/%{}-]+$/i, {
        error: ({ input }) => `must be terms such as include:spf.example.com, and ${JSON.stringify(input)} is none`,
      }),
    ),
  );

const url = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
  .transform((text) => withoutTrailing(text, /\//));

export const settings = {
  PORT: { schema: port, default: '3000', about: 'TCP port of the web server; 0 takes a free one.' },
  HOST: {
    schema: z.string().min(1),
    default: '127.0.0.1',
    about: 'Address the web server listens on; `0.0.0.0` for all.',
  },
  BASE_URL: {
    schema: z.union([z.literal(''), url]),
    default: '',
    about:
      'The address the world reaches this installation at; it stands in every link of every mail. Empty: `http://HOST:PORT`.',
  },
  HSTS_SUBDOMAINS: {
    schema: z.enum(['on', 'off']),
    default: 'off',
    about:
      'Where BASE_URL begins with https://, browsers are told to use only https with this host (HSTS). `on`: with all its subdomains, too; every one of them needs https then, for two years.',
  },
  TRUSTED_PROXIES: {
    schema: proxies,
    default: '',
    about: 'Addresses and networks (CIDR) of reverse proxies whose `X-Forwarded-For` is believed, comma-separated.',
  },
  RATE_LIMIT: {
    schema: rateLimit,
    default: '',
    about:
      'Requests to REST and GraphQL that one token may make, such as `60/1m`; counted over all processes. Empty: no limit.',
  },
  RATE_LIMIT_STRANGERS: {
    schema: rateLimit,
    default: '',
    about: 'The same for requests without a valid token, by address. Empty: as `RATE_LIMIT`.',
  },
  OUTBOUND_ALLOW_HOSTS: {
    schema: hosts,
    default: '',
    about:
      'Private hosts and networks (CIDR) that may be reached for customers, comma-separated; all other private addresses are refused.',
  },
  DATA_DIR: {
    schema: z
      .string()
      .min(1)
      .transform((dir) => path.resolve(dir)),
    default: 'data',
    about: 'Folder for what the program keeps: the embedded database, the secret.',
  },
  DATABASE_URL: {
    schema: z.union([z.literal(''), z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgresql://')]),
    default: '',
    about: 'A PostgreSQL 15 or later of your own. Empty: an embedded one under DATA_DIR.',
  },
  ROLES: {
    schema: roleList,
    default: 'web,worker,cron',
    about: 'What this process does: any of `web`, `worker`, `cron`, comma-separated.',
  },
  ADMIN_EMAIL: { schema: z.email(), default: 'admin@example.com', about: 'First start only: the first administrator.' },
  ADMIN_PASSWORD: {
    schema: z.union([z.literal(''), z.string().min(8).max(128)]),
    default: '',
    about: 'First start only: its password, 8 to 128 characters. Empty: one is made and shown once.',
  },
  ADMIN_API_TOKEN: {
    schema: z.union([z.literal(''), z.string().regex(/^[A-Za-z0-9]{40,100}$/, 'must be 40 to 100 letters and digits')]),
    default: '',
    about: 'First start only: its API token. Empty: one is made and shown once.',
  },
  APP_SECRET: {
    schema: z.union([z.literal(''), z.string().min(32, 'must have at least 32 characters')]),
    default: '',
    about:
      'Root of all keys (sealed credentials, signed links); the same for all processes. Empty: made once and kept in DATA_DIR.',
  },
  SESSION_IDLE_DAYS: {
    schema: count(1, 3_650),
    default: '30',
    about: 'Days without use after which a login ends: the session of a browser, and a token that logging in gave.',
  },
  SESSION_DAYS_MAX: {
    schema: count(1, 3_650),
    default: '90',
    about: 'Days after which a login ends in any case, counted from logging in.',
  },
  REST_DIALECT: {
    schema: z.enum(['standard', 'classic']),
    default: 'standard',
    about: 'How REST answers look when neither request nor token says: `standard` or `classic`.',
  },
  INBOX: {
    schema: z.enum(['auto', 'on', 'off']),
    default: 'auto',
    about: 'The built-in development inbox: `auto` runs it only while no other sending server exists.',
  },
  INBOX_SMTP_PORT: { schema: port, default: '2525', about: 'Loopback port of the inbox; 0 takes a free one.' },
  GRAPHQL_EXPLORER: {
    schema: z.enum(['on', 'off']),
    default: 'on',
    about: 'Serves the GraphQL explorer to browsers at `/graphql`.',
  },
  MAINTENANCE: {
    schema: z.enum(['on', 'off']),
    default: 'off',
    about:
      'Closes REST and GraphQL (503) to all but administrators and customers whose plan says `access_when_offline`. Sending and the links in mails go on.',
  },
  GEOIP_FILE: {
    schema: z.string().transform((file) => (file === '' ? '' : path.resolve(file))),
    default: '',
    about:
      'A database file in MaxMind format (`.mmdb`, cities or countries) that tells where opens and clicks come from; read again when it changes. Empty: unknown.',
  },
  LOG_LEVEL: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    default: 'info',
    about: 'The least important events that are logged.',
  },
  LOG_FORMAT: {
    schema: z.enum(['auto', 'json', 'pretty']),
    default: 'auto',
    about: 'One JSON object a line, or readable lines; `auto`: readable on a terminal.',
  },
  DB_POOL_SIZE: {
    schema: count(4, 500),
    default: '20',
    about:
      'Database connections of this process, at most. With the role `web`, half of them are for requests; then there are at least six for requests and four for other work.',
  },
  WORKER_CONCURRENCY: {
    schema: count(1, 100),
    default: '4',
    about: 'Jobs of one customer that a process works on at the same time; it keeps one more place for others.',
  },
  WORKERS: {
    schema: z.union([z.literal('auto'), count(1, 64)]),
    default: '1',
    about:
      'Processes that work on this machine, the program itself included: a number, or `auto` for one per core. Those beyond the first are started and watched by the program.',
  },
  KEEP_LEDGER_MONTHS: {
    schema: count(0, 1_200),
    default: '0',
    about:
      'Whole months for which it is kept who got which campaign; older ones are dropped every night once their campaigns are done, figures stay. 0 keeps all.',
  },
  KEEP_EVENTS_MONTHS: {
    schema: count(0, 1_200),
    default: '0',
    about: 'The same for single opens, clicks, unsubscribes, bounces and complaints.',
  },
  STOP_GRACE_SECONDS: {
    schema: count(1, 3_600),
    default: '30',
    about:
      'How long SIGTERM waits for running SMTP dialogues and requests. What is in a dialogue after that is decided by its lease. Ctrl-C waits 7 seconds at most.',
  },
  SEND_BATCH_SIZE: { schema: count(10, 10_000), default: '500', about: 'Recipients a sending job takes at once.' },
  SEND_ATTEMPTS_MAX: {
    schema: count(1, 100),
    default: '20',
    about: 'Tries per recipient before a temporary refusal becomes a failure (20 tries span about two days).',
  },
  SEND_RETRY_DELAY_SECONDS: {
    schema: count(1, 3_600),
    default: '15',
    about: 'Wait before the second try of a temporarily refused recipient; it doubles with each try, up to 6 hours.',
  },
  SEND_LEASE_SECONDS: {
    schema: count(2, 3_600),
    default: '45',
    about:
      'How long a recipient stays with a worker that says nothing more; after a crash, messages in doubt are decided this much later.',
  },
  PLAN_BATCH_SIZE: {
    schema: count(100, 100_000),
    default: '10000',
    about: 'Recipients written to the ledger in one transaction when a campaign starts.',
  },
  IMPORT_BATCH_SIZE: {
    schema: count(100, 100_000),
    default: '5000',
    about: 'Lines of an import file written in one transaction.',
  },
  IMPORT_SIZE_MAX_MB: { schema: count(1, 10_000), default: '500', about: 'Largest import file, in megabytes.' },
  FILE_SIZE_MAX_MB: {
    schema: count(1, 1_000),
    default: '100',
    about: 'Largest uploaded file, in megabytes; plans may allow less.',
  },
  BOUNCE_DOMAIN: {
    schema: z.union([z.literal(''), mailDomain]),
    default: '',
    about:
      'Domain of return-paths that say whose bounce it is (`bounce+<token>@BOUNCE_DOMAIN`); its mail must come to a bounce mailbox or to BOUNCE_SMTP_PORT. Empty: bounces go to the address of the sender.',
  },
  BOUNCE_SMTP_PORT: {
    schema: z.union([z.literal('').transform(() => null), port]),
    default: '',
    about:
      'TCP port of the SMTP server that takes bounces and complaints for BOUNCE_DOMAIN, and nothing else; the MX of the domain leads there. 0 takes a free one. Empty: none.',
  },
  BOUNCE_SMTP_HOST: {
    schema: z.string().min(1),
    default: '0.0.0.0',
    about: 'Address that server listens on.',
  },
  SOFT_BOUNCE_LIMIT: {
    schema: count(0, 100),
    default: '5',
    about:
      'Soft bounces of different messages that suppress an address, unless a customer sets another number; 0: never.',
  },
  SOFT_BOUNCE_DAYS: { schema: count(1, 365), default: '30', about: 'Within how many days.' },
  BOUNCE_PAUSE_PERCENT: {
    schema: count(0, 100),
    default: '95',
    about: 'A campaign pauses when so many of its latest recipients are refused as if nobody were there; 0: never.',
  },
  BOUNCE_PAUSE_RECIPIENTS: {
    schema: count(20, 100_000),
    default: '1000',
    about: 'By how many of its latest recipients a campaign is judged so; one to fewer goes to its end.',
  },
  DNS_SERVERS: {
    schema: dnsServers,
    default: '',
    about:
      'DNS servers that are asked about sending domains, comma-separated, with a port where it is not 53 (`192.0.2.53`, `[2001:db8::53]:5353`). Empty: those of the system.',
  },
  SPF_TERMS: {
    schema: spfTerms,
    default: '',
    about:
      'SPF terms that allow the servers this installation sends through, such as `include:spf.example.com ip4:192.0.2.7`: customers are told to put them into their records. Empty: `a:` and the host of BASE_URL.',
  },
  FROM_ADDRESSES: {
    schema: z.enum(['any', 'verified']),
    default: 'any',
    about:
      'Whether customers may send from any address, or only from verified ones (by a link in a mail, or below a verified domain); the house may always.',
  },
  MAIL_FROM: {
    schema: z.union([z.literal(''), z.email()]),
    default: '',
    about: 'Sender of the mails that the program itself writes. Empty: `no-reply@` and the host of BASE_URL.',
  },
  BILLING_GRACE_DAYS: {
    schema: count(0, 365),
    default: '7',
    about: 'Days a renewal may be paid after its period has begun; then the subscription ends.',
  },
  OFFLINE_PAYMENT_INSTRUCTIONS: {
    schema: z.string().max(2_000),
    default: 'Pay by bank transfer and name the invoice. Then say so here; an administrator checks and approves it.',
    about: 'What an unpaid invoice says of how to pay it: your bank account, say.',
  },
} as const;

export type SettingName = keyof typeof settings;
export type Settings = { readonly [Name in SettingName]: z.output<(typeof settings)[Name]['schema']> };
