/**
 * SPF (RFC 7208) as its owner should see it: one record, well-formed, at most ten look-ups however deep they are nested, and the
 * terms that this installation's mail needs. Evaluates no message: every term is counted.
 */
import type { DnsAnswer, DnsQuery } from '../../../lib/dns-records.ts';

export type SpfProblem =
  | 'LOOKUP_FAILED'
  | 'NO_RECORD'
  | 'TWO_RECORDS'
  | 'SYNTAX'
  | 'TOO_MANY_LOOKUPS'
  | 'TOO_MANY_VOID_LOOKUPS'
  | 'BROKEN_INCLUDE'
  | 'USES_PTR'
  | 'ALLOWS_ALL'
  | 'NO_END'
  | 'TERM_MISSING';

export interface SpfFinding {
  readonly code: SpfProblem;
  readonly message: string;
}

export interface SpfReport {
  readonly record: string | null;
  /** Look-ups of a receiver if nothing matches before the end; counting stops a little above the limit. */
  readonly lookups: number;
  readonly problems: readonly SpfFinding[];
}

/** RFC 7208 4.6.4: how many look-ups a receiver may make, and how many may be empty. */
const LOOKUPS_MAX = 10;
const VOID_LOOKUPS_MAX = 2;
/** Enough to show by how much the limit is exceeded; a hostile record must not cause endless queries. */
const LOOKUPS_COUNTED_MAX = 30;

const MECHANISMS = new Set(['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists']);
const COUNTED = new Set(['include', 'a', 'mx', 'ptr', 'exists', 'redirect']);
const TERM = /^([+\-~?]?)([a-z][a-z0-9_.-]*)(?:([:=])(.*?))?(\/\d{1,3}(?:\/\/\d{1,3})?|\/\/\d{1,3})?$/i;

interface Term {
  readonly name: string;
  readonly value: string;
  readonly isModifier: boolean;
  readonly qualifier: string;
}

interface Walk {
  readonly queryDns: DnsQuery;
  readonly seen: Set<string>;
  readonly problems: Map<SpfProblem, string>;
  lookups: number;
  voids: number;
}

/** Checks the record of `domain`; `needed` are the terms it must contain, such as `include:spf.example.com`. */
export async function checkSpf(queryDns: DnsQuery, domain: string, needed: readonly string[]): Promise<SpfReport> {
  const walk: Walk = { queryDns, seen: new Set(), problems: new Map(), lookups: 0, voids: 0 };
  const { record, problem } = spfRecordIn(await queryDns('TXT', domain), domain);
  if (record === undefined) return { record: null, lookups: 0, problems: [problem] };
  await count(walk, record);
  noteTop(walk, record);
  const missing = needed.filter((term) => !walk.seen.has(term.toLowerCase()));
  if (missing.length > 0 && walk.lookups <= LOOKUPS_COUNTED_MAX)
    walk.problems.set(
      'TERM_MISSING',
      `It does not name ${missing.join(' ')}, so mail of this installation may fail SPF.`,
    );
  if (walk.lookups > LOOKUPS_MAX) walk.problems.set('TOO_MANY_LOOKUPS', tooMany(walk.lookups));
  if (walk.voids > VOID_LOOKUPS_MAX)
    walk.problems.set(
      'TOO_MANY_VOID_LOOKUPS',
      `${walk.voids} look-ups lead to nothing; receivers give up after ${VOID_LOOKUPS_MAX}.`,
    );
  const problems = Array.from(walk.problems, ([code, message]) => ({ code, message }));
  return { record, lookups: walk.lookups, problems };
}

function tooMany(lookups: number): string {
  const shown = lookups > LOOKUPS_COUNTED_MAX ? `more than ${LOOKUPS_COUNTED_MAX}` : String(lookups);
  return `It takes ${shown} look-ups; receivers stop at ${LOOKUPS_MAX} and treat the record as broken.`;
}

type Found =
  | { readonly record: string; readonly problem?: undefined }
  | { readonly record?: undefined; readonly problem: SpfFinding };

/** The one SPF record among the texts at a name (RFC 7208 4.5). */
function spfRecordIn(answer: DnsAnswer, domain: string): Found {
  if (answer.status === 'failed')
    return { problem: { code: 'LOOKUP_FAILED', message: `${domain}: ${answer.reason}.` } };
  const texts = answer.status === 'found' ? answer.values : [];
  const records = texts.filter((text) => /^v=spf1( |$)/i.test(text));
  const [record] = records;
  if (record === undefined) return { problem: { code: 'NO_RECORD', message: `${domain} has no SPF record.` } };
  if (records.length === 1) return { record };
  const message = `${domain} has ${records.length} SPF records; receivers then use none. Join them into one.`;
  return { problem: { code: 'TWO_RECORDS', message } };
}

/** Checks of the domain's own record only. */
function noteTop({ problems }: Walk, record: string): void {
  const terms = termsOf(record);
  const all = terms.find((term) => term?.name === 'all');
  if (all && (all.qualifier === '' || all.qualifier === '+'))
    problems.set('ALLOWS_ALL', 'It ends in +all: every server may send in the name of this domain.');
  if (!all && !terms.some((term) => term?.name === 'redirect'))
    problems.set('NO_END', 'It does not say what holds for all other servers: end it with ~all or -all.');
}

async function count(walk: Walk, record: string): Promise<void> {
  const terms = termsOf(record);
  if (terms.includes(undefined)) walk.problems.set('SYNTAX', `"${record.slice(0, 200)}" is not well-formed.`);
  const known = terms.filter((term) => term !== undefined);
  const end = known.findIndex(({ name }) => name === 'all');
  // Terms after `all` are never reached, and a redirect beside it is ignored (RFC 7208 5.1, 6.1).
  const reached = end === -1 ? known : known.slice(0, end + 1);
  const mechanisms = reached.filter(({ isModifier }) => !isModifier);
  const redirect = end === -1 ? known.find(({ name, isModifier }) => isModifier && name === 'redirect') : undefined;
  for (const term of redirect ? [...mechanisms, redirect] : mechanisms) {
    walk.seen.add(`${term.name}${term.value === '' ? '' : `:${term.value}`}`.toLowerCase());
    if (!COUNTED.has(term.name)) continue;
    if (walk.lookups > LOOKUPS_COUNTED_MAX || ++walk.lookups > LOOKUPS_COUNTED_MAX) return;
    await follow(walk, term);
  }
}

async function follow(walk: Walk, { name, value }: Term): Promise<void> {
  if (name === 'ptr') walk.problems.set('USES_PTR', 'It uses ptr, which is slow, and which receivers may ignore.');
  // Macros differ between messages: counted, not queried.
  if ((name !== 'include' && name !== 'redirect') || value.includes('%')) return;
  const answer = await walk.queryDns('TXT', value.toLowerCase());
  if (answer.status === 'none') walk.voids++;
  const { record, problem } = spfRecordIn(answer, value);
  if (record !== undefined) return count(walk, record);
  const code = problem.code === 'LOOKUP_FAILED' ? 'LOOKUP_FAILED' : 'BROKEN_INCLUDE';
  walk.problems.set(code, `${name} of ${value}: ${problem.message}`);
}

/** The terms of a record; undefined for each invalid one. */
function termsOf(record: string): (Term | undefined)[] {
  return record.split(/ +/).slice(1).filter(Boolean).map(termOf);
}

function termOf(text: string): Term | undefined {
  const match = TERM.exec(text);
  if (!match) return undefined;
  const [, qualifier = '', typed = '', separator, value = '', cidr = ''] = match;
  const name = typed.toLowerCase();
  if (separator === '=')
    return qualifier === '' ? { name, value: value + cidr, isModifier: true, qualifier } : undefined;
  if (!MECHANISMS.has(name)) return undefined;
  if (NEEDS_VALUE.has(name) && value === '') return undefined;
  return { name, value: value + cidr, isModifier: false, qualifier };
}

const NEEDS_VALUE = new Set(['include', 'exists', 'ip4', 'ip6']);
