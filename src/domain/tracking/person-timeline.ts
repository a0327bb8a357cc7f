/**
 * The timeline of a person (decision D104): what happened to them on their list, the mails to them, what they did with these, and their
 * steps through flows. It has no table of its own. Repeating a read is harmless.
 */
import { PERSON_EVENT_KINDS, personEventKind, type PersonEventKind } from '../../events/person-event.ts';
import { messageUid, runUid } from '../../lib/ids.ts';
import { maskSecrets } from '../../lib/mask-secrets.ts';
import { consentHistories, type ConsentEvent } from '../audience/consent-read-model.ts';
import type { Context } from '../context.ts';
import { deliveryReasonText } from '../sending/delivery-reason.ts';
import { SOURCE_KINDS } from '../source-key.ts';
import {
  timelineActs,
  timelineEvents,
  timelineMails,
  timelineSteps,
  timelineSuppressions,
  type PersonKey,
  type TimelineEvent,
  type TimelineMail,
} from './timeline-read-model.ts';
import {
  compareEntries,
  RANKS,
  TIMELINE_KINDS,
  type TimelineEntry,
  type TimelineKind,
  type TimelinePage,
} from './timeline.ts';

/** A page of the timeline, the newest first: of these kinds only; null: of all. */
export async function personTimeline(
  ctx: Pick<Context, 'db'>,
  person: PersonKey,
  { kinds: asked, ...page }: TimelinePage & { readonly kinds: readonly TimelineKind[] | null },
): Promise<TimelineEntry[]> {
  const kinds = new Set(asked ?? TIMELINE_KINDS);
  const entries = [
    ...(await eventEntries(ctx, person, { ...page, kinds })),
    ...(kinds.has('suppressed') ? await suppressionEntries(ctx, person, page) : []),
    ...(kinds.has('flow') ? await stepEntries(ctx, person, page) : []),
    ...(await mailEntries(ctx, person, { ...page, kinds })),
  ];
  return entries.toSorted(compareEntries).slice(0, page.limit);
}

type PageOfKinds = TimelinePage & { readonly kinds: ReadonlySet<TimelineKind> };

async function eventEntries(
  { db }: Pick<Context, 'db'>,
  person: PersonKey,
  { kinds, ...page }: PageOfKinds,
): Promise<TimelineEntry[]> {
  const numbers = [...kinds].flatMap((kind) => (isEventKind(kind) ? [PERSON_EVENT_KINDS[kind]] : []));
  if (numbers.length === 0) return [];
  const events = await timelineEvents(db, person, { ...page, kinds: numbers });
  const [consents = []] = await consentHistories(db, person.customerId, [person]);
  return events.flatMap((event) => {
    const kind = personEventKind(event.kind);
    if (kind === 'removed') return [];
    const { at, micros, id } = event;
    const place = { micros, rank: RANKS.event, id, no: 0 };
    return [{ ...place, at, kind, by: causeOf(kind, event, consents), what: whatOf(kind, event) }];
  });
}

function isEventKind(
  kind: TimelineKind,
): kind is Exclude<TimelineKind, 'mail' | 'opened' | 'clicked' | 'flow' | 'suppressed'> {
  return Object.hasOwn(PERSON_EVENT_KINDS, kind);
}

function whatOf(kind: PersonEventKind, { name, data, startsFlows }: TimelineEvent) {
  if (kind === 'event') return { name, payload: data && maskSecrets(data) };
  const { listUid, ...others } = data ?? {};
  // The names are those of REST. `starts_flows`: what an import did that was not asked to run automations (D72).
  return { ...others, ...(listUid ? { list_uid: listUid } : {}), ...(startsFlows ? {} : { starts_flows: false }) };
}

const STATUS_AFTER: Readonly<Partial<Record<PersonEventKind, string>>> = {
  ...({ confirmed: 'subscribed', resubscribed: 'subscribed', unsubscribed: 'unsubscribed' } as const),
};
/** A transaction writes both: the consent with its beginning, the event with its own time. */
const CONSENT_BEFORE_MS = 60_000;
const CONSENT_AFTER_MS = 1_000;

/** Who or what did it: of a change of consent its source, which is kept with the consent. */
function causeOf(kind: PersonEventKind, { at, depth, data }: TimelineEvent, consents: readonly ConsentEvent[]) {
  if (kind === 'event') return 'api';
  if (kind === 'bounced') return 'server';
  if (kind === 'complained') return 'person';
  if (depth > 0) return 'flow';
  const status = kind === 'added' ? (data?.['status'] ?? 'subscribed') : STATUS_AFTER[kind];
  const near = consents.filter((consent) => {
    const before = at.getTime() - consent.at.getTime();
    return consent.status === status && before <= CONSENT_BEFORE_MS && before >= -CONSENT_AFTER_MS;
  });
  return near.at(-1)?.source ?? null;
}

async function stepEntries(
  { db }: Pick<Context, 'db'>,
  person: PersonKey,
  page: TimelinePage,
): Promise<TimelineEntry[]> {
  const steps = await timelineSteps(db, person, page);
  return steps.map(({ at, micros, id, no, automationUid, ...step }) => ({
    ...{ micros, rank: RANKS.step, id, no, at, kind: 'flow', by: 'flow' },
    what: { automation_uid: automationUid, run_uid: runUid(id), ...step },
  }));
}

const SUPPRESSED_BY: Readonly<Partial<Record<string, string>>> = { bounce: 'server', complaint: 'person' };

async function suppressionEntries(
  { db }: Pick<Context, 'db'>,
  person: PersonKey,
  page: TimelinePage,
): Promise<TimelineEntry[]> {
  const [found] = await timelineSuppressions(db, person, page);
  if (!found) return [];
  const { at, micros, reason } = found;
  const place = { micros, rank: RANKS.suppression, id: 0n, no: 0 };
  return [{ ...place, at, kind: 'suppressed', by: SUPPRESSED_BY[reason] ?? null, what: { reason } }];
}

async function mailEntries(
  { db }: Pick<Context, 'db'>,
  person: PersonKey,
  { kinds, ...page }: PageOfKinds,
): Promise<TimelineEntry[]> {
  if (!(kinds.has('mail') || kinds.has('opened') || kinds.has('clicked'))) return [];
  const mails = await timelineMails(db, person, page);
  const entries: TimelineEntry[] = kinds.has('mail') ? mails.map(mailEntry) : [];
  if (kinds.has('opened')) {
    const opened = mails.filter(({ opens }) => opens > 0);
    const opens = opened.length > 0 ? await timelineActs(db, person, { ...page, act: 'open', mails: opened }) : [];
    for (const { at, micros, id, mail, isMachine, isImplied } of opens)
      entries.push({
        ...{ micros, rank: RANKS.open, id, no: 0, at, kind: 'opened', by: isMachine ? 'machine' : 'person' },
        what: { ...sourceOf(opened[mail]), is_implied: isImplied },
      });
  }
  if (kinds.has('clicked')) {
    const clicked = mails.filter((mail) => mail.clicks > 0);
    const clicks = clicked.length > 0 ? await timelineActs(db, person, { ...page, act: 'click', mails: clicked }) : [];
    for (const { at, micros, id, mail, isMachine, url } of clicks)
      entries.push({
        ...{ micros, rank: RANKS.click, id, no: 0, at, kind: 'clicked', by: isMachine ? 'machine' : 'person' },
        what: { ...sourceOf(clicked[mail]), url },
      });
  }
  const { after } = page;
  return after ? entries.filter((entry) => compareEntries(after, entry) < 0) : entries;
}

const SOURCE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(SOURCE_KINDS).map(([name, number]) => [number, name === 'listMail' ? 'list' : name]),
);

function mailEntry(mail: TimelineMail): TimelineEntry {
  const { at, micros, id, sourceKind, state, reason, purpose } = mail;
  return {
    ...{ micros, rank: RANKS.mail, id, no: sourceKind, at, kind: 'mail', by: SOURCE_NAMES.get(sourceKind) ?? null },
    what: { ...sourceOf(mail), purpose, state, reason: reason && deliveryReasonText(reason) },
  };
}

/** What sent the mail, by its public name. */
function sourceOf(mail: TimelineMail | undefined) {
  if (!mail) return {};
  const { sourceKind, id, uid, name } = mail;
  if (sourceKind === SOURCE_KINDS.campaign) return { campaign_uid: uid, name };
  const message = { message_uid: messageUid(id) };
  return sourceKind === SOURCE_KINDS.automation ? { ...message, automation_uid: uid, name } : message;
}
