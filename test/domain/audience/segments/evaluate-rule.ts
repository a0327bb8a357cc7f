/** What a rule means, said again as plainly as can be: one person at a time, in TypeScript, without the product's code. */
import type {
  CampaignChoice,
  ClickedCondition,
  Condition,
  EventCondition,
  NumberCondition,
  OpenedCondition,
  SegmentRule,
  OptionsCondition,
  TextCondition,
  TimeCondition,
} from '../../../../src/domain/audience/segments/segment.ts';

export interface PersonActivity {
  readonly campaign: string;
  readonly opens: number;
  readonly clicks: number;
  readonly humanOpens: number;
  readonly humanClicks: number;
  /** Milliseconds; null beside opens: known by a click only. */
  readonly lastOpenAt: number | null;
  readonly lastClickAt: number | null;
  readonly links: readonly string[];
  /** State in the ledger. */
  readonly state: string;
}

/** Of one kind, or `event` with a name. */
export interface RecordedEvent {
  readonly kind: string;
  readonly name?: string;
  readonly tags?: readonly string[];
  readonly fields?: readonly string[];
  readonly at: number;
}

export interface Person {
  readonly emailKey: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly status: string;
  readonly source: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly confirmedAt: number | null;
  /** What a verifier has said, and when. */
  readonly verification: string | null;
  readonly verifiedAt: number | null;
  readonly everOpened: boolean;
  readonly everClicked: boolean;
  readonly activity: readonly PersonActivity[];
  readonly events: readonly RecordedEvent[];
}

export interface World {
  readonly asOf: number;
  /** Of the list; uid -> when it was started, in milliseconds, or null. */
  readonly campaigns: ReadonlyMap<string, number | null>;
}

const DAY = 86_400_000;
const fold = (text: string) => text.normalize('NFC').toLowerCase();

export function matches(rule: SegmentRule, person: Person, world: World): boolean {
  if ('all' in rule) return rule.all.every((inner) => matches(inner, person, world));
  if ('any' in rule) return rule.any.some((inner) => matches(inner, person, world));
  if ('none' in rule) return !rule.none.some((inner) => matches(inner, person, world));
  return holds(rule, person, world);
}

function holds(condition: Condition, person: Person, world: World): boolean {
  if ('email' in condition) {
    if ('domain' in condition.email) return person.emailKey.endsWith(`@${condition.email.domain}`);
    return text(condition.email, person.emailKey);
  }
  if ('field' in condition) {
    const value = person.fields[condition.field.tag] ?? '';
    if ('text' in condition.field) return text(condition.field.text, value);
    if ('number' in condition.field) return number(condition.field.number, numberOf(value));
    if ('options' in condition.field) return options(condition.field.options, value);
    return time(condition.field.datetime, timeOf(value), world.asOf);
  }
  if ('tags' in condition) {
    const own = new Set(person.tags.map(fold));
    if ('hasAny' in condition.tags) return condition.tags.hasAny.some((tag) => own.has(fold(tag)));
    if ('hasAll' in condition.tags) return condition.tags.hasAll.every((tag) => own.has(fold(tag)));
    return !condition.tags.hasNone.some((tag) => own.has(fold(tag)));
  }
  if ('status' in condition) return condition.status.some((status) => status === person.status);
  if ('source' in condition) return text(condition.source, person.source ?? '');
  if ('createdAt' in condition) return time(condition.createdAt, person.createdAt, world.asOf);
  if ('updatedAt' in condition) return time(condition.updatedAt, person.updatedAt, world.asOf);
  if ('confirmedAt' in condition) return time(condition.confirmedAt, person.confirmedAt, world.asOf);
  if ('verification' in condition)
    return condition.verification.some((word) => word === (person.verification ?? 'unverified'));
  if ('verifiedAt' in condition) return time(condition.verifiedAt, person.verifiedAt, world.asOf);
  if ('opened' in condition) return did('open', condition.opened, person, world);
  if ('clicked' in condition) return did('click', condition.clicked, person, world);
  if ('did' in condition) return happened(condition.did, person, world);
  if ('didNot' in condition) return !happened(condition.didNot, person, world);
  if ('pluginCondition' in condition) throw new Error('No plugin is asked here.');
  const { campaigns, atLeast = 1 } = condition.received;
  const meant = meantCampaigns(campaigns, world);
  return person.activity.filter((one) => meant.has(one.campaign) && one.state === 'sent').length >= atLeast;
}

function text(condition: TextCondition, value: string): boolean {
  const has = value !== '';
  const own = fold(value);
  if ('isEmpty' in condition) return condition.isEmpty !== has;
  if ('is' in condition) return has && own === fold(condition.is);
  if ('isNot' in condition) return !has || own !== fold(condition.isNot);
  if ('contains' in condition) return has && own.includes(fold(condition.contains));
  if ('notContains' in condition) return !has || !own.includes(fold(condition.notContains));
  if ('startsWith' in condition) return has && own.startsWith(fold(condition.startsWith));
  if ('endsWith' in condition) return has && own.endsWith(fold(condition.endsWith));
  if ('in' in condition) return has && condition.in.some((one) => fold(one) === own);
  return !has || !condition.notIn.some((one) => fold(one) === own);
}

function options(condition: OptionsCondition, value: string): boolean {
  if ('isEmpty' in condition) return condition.isEmpty === (value === '');
  const own = new Set(value.split(',').map((one) => fold(one.trim())));
  const has = (one: string) => value !== '' && own.has(fold(one));
  if ('hasAny' in condition) return condition.hasAny.some(has);
  if ('hasAll' in condition) return condition.hasAll.every(has);
  return !condition.hasNone.some(has);
}

function numberOf(value: string): number | null {
  const isNumber = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(value);
  return isNumber ? Number(value) : null;
}

function number(condition: NumberCondition, value: number | null): boolean {
  if ('isEmpty' in condition) return condition.isEmpty === (value === null);
  if ('isNot' in condition) return value !== condition.isNot;
  if (value === null) return false;
  if ('is' in condition) return value === condition.is;
  if ('lt' in condition) return value < condition.lt;
  if ('lte' in condition) return value <= condition.lte;
  if ('gt' in condition) return value > condition.gt;
  if ('gte' in condition) return value >= condition.gte;
  return value >= condition.between.from && value <= condition.between.to;
}

const DATE_TIME =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?: ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?)?$/i;

/** Part by part, not by the runtime's own reader, which knows other spellings. */
function timeOf(value: string): number | null {
  const parts = DATE_TIME.exec(value);
  if (!parts) return null;
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = parts;
  const midnight = new Date(Date.UTC(2000, Number(month) - 1, 1));
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (Number(year) === 0 || midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day))
    return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  if (Number(hours) > 15 || Number(minutes) > 59) return null;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Number(second) + Number(`0.${fraction || '0'}`);
  return midnight.getTime() + Math.round(seconds * 1_000) - offset;
}

function time(condition: TimeCondition, value: number | null, asOf: number): boolean {
  if ('isEmpty' in condition) return condition.isEmpty === (value === null);
  if (value === null) return false;
  if ('before' in condition) return value < Date.parse(condition.before);
  if ('after' in condition) return value > Date.parse(condition.after);
  if ('on' in condition) return new Date(value).toISOString().slice(0, 10) === condition.on;
  if ('between' in condition)
    return value >= Date.parse(condition.between.from) && value <= Date.parse(condition.between.to);
  if ('inLastDays' in condition) return value >= asOf - condition.inLastDays * DAY && value <= asOf;
  if ('inNextDays' in condition) return value >= asOf && value <= asOf + condition.inNextDays * DAY;
  if ('moreThanDaysAgo' in condition) return value < asOf - condition.moreThanDaysAgo * DAY;
  if ('moreThanDaysAhead' in condition) return value > asOf + condition.moreThanDaysAhead * DAY;
  return comesRound(new Date(value), asOf, condition.anniversaryWithinDays);
}

/** Day by day from today on: is it that day's date, with 29 February on the 28th where the year has none? */
function comesRound(date: Date, asOf: number, days: number): boolean {
  for (let no = 0; no <= days; no++) {
    const today = new Date(asOf + no * DAY);
    const isLeap = new Date(Date.UTC(today.getUTCFullYear(), 1, 29)).getUTCMonth() === 1;
    const day = date.getUTCMonth() === 1 && date.getUTCDate() === 29 && !isLeap ? 28 : date.getUTCDate();
    if (today.getUTCMonth() === date.getUTCMonth() && today.getUTCDate() === day) return true;
  }
  return false;
}

function meantCampaigns(choice: CampaignChoice | undefined, { campaigns, asOf }: World): ReadonlySet<string> {
  if (choice && 'uids' in choice) return new Set(choice.uids.filter((uid) => campaigns.has(uid)));
  const started = [...campaigns]
    .flatMap(([uid, at], no) => (at !== null && at <= asOf ? [{ uid, at, no }] : []))
    .toSorted((a, b) => b.at - a.at || b.no - a.no);
  if (!choice) return new Set(started.map(({ uid }) => uid));
  if ('last' in choice) return new Set(started.slice(0, choice.last).map(({ uid }) => uid));
  return new Set(started.filter(({ at }) => at >= asOf - choice.startedInLastDays * DAY).map(({ uid }) => uid));
}

function did(
  what: 'open' | 'click',
  condition: OpenedCondition & ClickedCondition,
  person: Person,
  world: World,
): boolean {
  const { campaigns, inLastDays, atLeast = 1, peopleOnly = false, linkContains } = condition;
  const meant = meantCampaigns(campaigns, world);
  const own = person.activity.filter((one) => meant.has(one.campaign));
  if (what === 'click' && linkContains !== undefined)
    return own.some((one) => one.links.some((url) => fold(url).includes(fold(linkContains))));
  if (!campaigns && inLastDays === undefined && atLeast === 1 && !peopleOnly)
    return what === 'open' ? person.everOpened : person.everClicked;
  // A person's click proves that the person read it, where opens are tracked.
  const humanOpens = (one: PersonActivity) => one.humanOpens || (one.humanClicks > 0 && one.opens > 0 ? 1 : 0);
  const times = (one: PersonActivity) =>
    what === 'open' ? (peopleOnly ? humanOpens(one) : one.opens) : peopleOnly ? one.humanClicks : one.clicks;
  const last = (one: PersonActivity) => (what === 'open' ? (one.lastOpenAt ?? one.lastClickAt) : one.lastClickAt);
  const counted = own.filter((one) => {
    const at = last(one);
    if (times(one) === 0) return false;
    return inLastDays === undefined || (at !== null && at >= world.asOf - inLastDays * DAY && at <= world.asOf);
  });
  return counted.length > 0 && counted.reduce((sum, one) => sum + times(one), 0) >= atLeast;
}

function happened(condition: EventCondition, { events }: Person, { asOf }: World): boolean {
  const { inLastDays = Infinity, atLeast = 1 } = condition;
  const counted = events.filter(({ at }) => at <= asOf && at >= asOf - inLastDays * DAY);
  return counted.filter((event) => isMeant(condition, event)).length >= atLeast;
}

function isMeant(condition: EventCondition, { kind, name, tags, fields }: RecordedEvent): boolean {
  if ('event' in condition) return name === condition.event;
  const { tag, field } = condition;
  // Who comes with tags gets them.
  const isKind = kind === condition.kind || (condition.kind === 'tagged' && kind === 'added' && tags !== undefined);
  const hasTag = tag === undefined || (tags ?? []).some((one) => fold(one) === fold(tag));
  return isKind && hasTag && (field === undefined || (fields ?? []).includes(field));
}
