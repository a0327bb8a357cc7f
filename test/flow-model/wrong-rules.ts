/** Each rule made wrong, as a defect of the product would be: the histories must notice every one. */
import { daysLater, firstInstant, shownAt } from './local-clock.ts';
import { RULES, type Rules } from './rules.ts';

const HOUR_MS = 3_600_000;
const DAY = 'YYYY-MM-DD'.length;

/** Once more an hour later, if clocks show the same then. */
function laterOccurrence(zone: string, day: string, time: string): number {
  const first = firstInstant(zone, day, time);
  return (
    [HOUR_MS, HOUR_MS / 2].map((ms) => first + ms).find((at) => shownAt(zone, at) === shownAt(zone, first)) ?? first
  );
}

/** A time in the gap as if clocks had not been changed yet: an hour, or half an hour, later. */
function afterGap(zone: string, day: string, time: string): number {
  const first = firstInstant(zone, day, time);
  if (shownAt(zone, first) === `${day}T${time}`) return first;
  return first + (Date.parse(`1970-01-01T${time}:00Z`) % HOUR_MS || HOUR_MS);
}

const WRONG_MOVE_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'D84: targets are not read': { targetOf: (nodes, _targets, at) => RULES.targetOf(nodes, {}, at) },
  'D84: a node with other work is the same node': {
    targetOf: (nodes, targets, at) => RULES.targetOf(nodes, { [at.id]: at.id, ...targets }, at),
  },
  'D84: who has no target is at the first node': {
    targetOf: (nodes, ...rest) => RULES.targetOf(nodes, ...rest) ?? nodes[0],
  },
  'D84: who is parked moves always': { isMoved: () => true },
  'D84: who is parked never moves': { isMoved: ({ isParked }) => !isParked },
  'D84: who comes late is forgotten': { movesLate: false },
  'D84: waits begin anew': { countsOn: (_node, isThere) => isThere },
  'D84: the same wait begins anew': { countsOn: ({ type }, isThere) => !isThere && type.startsWith('wait') },
  'D84: what has not changed is looked at anew': { isUnchanged: () => false },
  'D84: other holidays are no change': {
    isUnchanged: (before, now) => RULES.isUnchanged({ ...before, flow: now.flow }, now),
  },
  'D84: coming by a move is no pass': { passesAfter: (times) => times },
  'D84: staying at a node is a pass': { passesAfter: (times) => times + 1 },
  'D84: what was done is done again': { isPassedOver: () => false },
  'D84: waits are work': { isWork: () => true },
  'D84: what failed is done': { isWork: (type, port) => RULES.isWork(type, port === 'error' ? null : port) },
  'D84: a call that nobody made is done': {
    isWork: (type, port) => RULES.isWork(type, port === 'timeout' ? null : port),
  },
  'D84: who is at a node has done its work': {
    isPassedOver: (asked) => RULES.isPassedOver({ ...asked, isThere: false }),
  },
  'D84: a way round does not go on': { isPassedOver: (asked) => RULES.isPassedOver({ ...asked, goesRound: false }) },
  'D84: what was to be passed over is forgotten': {
    isPassedOver: (asked) => RULES.isPassedOver({ ...asked, isToCome: false }),
  },
  'D84: on a way round it is passed over always': { isOverOnce: false },
  'D84: a change lets in who has finished': { changeLetsIn: true },
  'D84: who has left has finished': { hasFinished: () => true },
  'D84: who has finished the live version is sent': { isOfLive: () => false },
  'D84: who is inside is sent': { maySend: (person) => RULES.maySend(person, false) },
  'D84: who has left the list is sent': {
    maySend: (person, isInside) => RULES.maySend({ ...person, status: 'subscribed' }, isInside),
  },
  'D84: who is suppressed is sent': {
    maySend: (person, isInside) => RULES.maySend({ ...person, isSuppressed: false }, isInside),
  },
  'D84: what was done in the last run is done again': { workedBefore: () => new Set<string>() },
};

const WRONG_PAUSE_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'D85: a pause stops nobody': { isMoving: () => true },
  'D85: what happened while it was stopped is not looked at': { looksAgain: false },
  'D85: who is late by a minute is late': { lateUntil: (choice, now) => RULES.lateUntil(choice, now) + HOUR_MS },
  'D85: every late mail is old': { lateUntil: (choice, now) => RULES.lateUntil({ ...choice, mode: 'spread' }, now) },
  'D85: nobody is spread': { turnOf: ({ from }) => from },
  'D85: the last goes before the end': {
    turnOf: (late, before) => RULES.turnOf({ ...late, total: late.total + 1 }, before),
  },
  'D85: nothing is asked of late people': { askedOfLate: () => undefined },
  'D85: nothing waits anew': { waitsAnew: () => false },
  'D85: a wait for an event does not wait anew': { waitsAnew: ({ type }) => type === 'wait' || type === 'wait_until' },
  'D85: who is moved forgets to skip mails': { staysAsked: () => false },
  'D87: who is moved skips the next node, too': { staysAsked: () => true },
  'who is parked is not taken out': { isTakenOut: ({ isParked }) => !isParked },
  'who came with a key is not taken out': { isTakenOut: ({ key }) => key === '' },
  'nobody is taken out of a flow that is stopped': { isTakenOut: (_run, status) => status === 'active' },
  'D87: skipping is a failure': { portToSkip: () => 'error' },
  'D87: who passes over a condition goes by it': {
    portToSkip: (node) => (node.type === 'condition' ? 'yes' : RULES.portToSkip(node)),
  },
  'D87: who passes over a split gets the first variant': {
    portToSkip: (node) => (node.type === 'split' ? `variant:${node.variants[0]?.name ?? ''}` : RULES.portToSkip(node)),
  },
};

const WRONG_CALL_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'D83: flows start one another without end': { depthOfStarted: (depth) => depth },
  'D83: flows start one another four deep': { isTooDeep: (depth) => RULES.isTooDeep(depth + 1) },
  'D70: a started flow gets no payload': { payloadOfStarted: () => ({}) },
  'D27: a call is for everybody': { isMeant: () => true },
  'D27: a call is for one person': { isMeant: (person, asked) => person === (asked ?? 0) },
  'D27: who does not wait is called': { isCalled: () => true },
  'D27: who passes over the node is called': { isCalled: ({ isParked }) => !isParked },
  'D27: what a call brings is not read': { payloadAfterCall: (own) => own },
  'D27: what a call brings replaces all': { payloadAfterCall: (_own, brought) => brought },
  'D27: what a run has stays': { payloadAfterCall: (own, brought) => ({ ...brought, ...own }) },
  'D27: no webhook is fired for who waits for a call': { firesForCall: () => false },
  'D27: webhooks are fired for who passes over a call': { firesForCall: (type) => RULES.firesForCall(type, false) },
  'D27: no webhook is fired by its node': { firesForHook: false },
  'D27: who was not called goes on': { portOfUncalled: 'next' },
  'D70: a refused entry is a fault': { faultOfStart: (refusal) => refusal ?? undefined },
};

export const WRONG_RULES: Readonly<Record<string, Partial<Rules>>> = {
  ...WRONG_CALL_RULES,
  ...WRONG_MOVE_RULES,
  ...WRONG_PAUSE_RULES,
  'D70: who entered once enters again': {
    mayEnter: (entry, last, now) => entry.mode === 'once' || RULES.mayEnter(entry, last, now),
  },
  'D70: days between entries do not count': {
    mayEnter: (entry, last, now) =>
      RULES.mayEnter(entry, last, entry.mode === 'after_days' ? Number.MAX_SAFE_INTEGER : now),
  },
  'D70: who is inside enters again': {
    mayEnter: (entry, last, now) => entry.mode === 'after_end' || RULES.mayEnter(entry, last, now),
  },
  'D70: nobody says why an entry is refused': { refusal: () => 'refused' },
  'D70: keys are all the same': { keyOf: (entry) => (entry.mode === 'per_key' ? 'same' : '') },
  'D70: keys may be used again': {
    mayEnter: (entry, last, now) => entry.mode === 'per_key' || RULES.mayEnter(entry, last, now),
  },
  'D83: a loop of entries is one entry later': { isLoop: (entries, now) => RULES.isLoop(entries.slice(1), now) },
  'D80: who has left the list stays in the flow': {
    leavesBy: ({ status }) => (status === 'deleted' ? status : undefined),
  },
  'D80: who is deleted stays in the flow': {
    leavesBy: (reader, has) => (reader.status === 'deleted' ? undefined : RULES.leavesBy(reader, has)),
  },
  'D80: the flow’s own unsubscribe ends it': { leavesBy: (reader) => RULES.leavesBy(reader, false) },
  'D75: the person’s zone is not read': { zoneOf: (_reader, listZone) => listZone },
  'D75: a wrong zone is UTC': {
    zoneOf: (reader, listZone) => (reader.fields['ZONE'] === 'nowhere' ? 'UTC' : RULES.zoneOf(reader, listZone)),
  },
  'D75: of a doubled hour the second occurrence': { instantOf: laterOccurrence },
  'D75: a time in the gap is an hour later': { instantOf: afterGap },
  'D75: local times are UTC': { instantOf: (_zone, day, time) => firstInstant('UTC', day, time) },
  'D74: the time of day is that of UTC': {
    timeOfDay: (node, since) => node.at ?? shownAt('UTC', since).slice(DAY + 1),
  },
  'D74: hours are a minute long': { elapsed: (given) => RULES.elapsed(given) / 60 },
  'D74: weekdays are not read': {
    isAllowed: (node, day, holidays) => RULES.isAllowed({ ...node, weekdays: [1, 2, 3, 4, 5, 6, 7] }, day, holidays),
  },
  'D74: holidays are not read': { isAllowed: (node, day) => RULES.isAllowed(node, day, []) },
  'D74: the local hour is not read': {
    timeOfDay: (node, since, zone) =>
      RULES.timeOfDay({ ...node, at: shownAt(zone, since).slice(DAY + 1) }, since, zone),
  },
  'D76: 29 February is 1 March': {
    anniversary: (day, year) => (day.endsWith('02-29') ? `${year}-03-01` : RULES.anniversary(day, year)),
  },
  'D76: before is after': { shift: (node) => -RULES.shift(node) },
  'D76: no date is today': { dayOf: (value) => RULES.dayOf(value) ?? '2026-03-04' },
  'D76: nothing is late': { isLate: () => false },
  'D76: late after a week': { isLate: (at, now) => RULES.isLate(daysOn(at, 6), now) },
  'D78: all is any': {
    isTrue: (question, ...rest) => RULES.isTrue(question.all ? { any: question.all } : question, ...rest),
  },
  'D78: none is not all': {
    isTrue: (question, ...rest) => RULES.isTrue(question.none ? { any: question.none } : question, ...rest),
  },
  'D78: tags are not read': {
    isTrue: (question, reader, ...rest) => RULES.isTrue(question, { ...reader, tags: [] }, ...rest),
  },
  'D78: fields are not read': {
    isTrue: (question, reader, ...rest) => RULES.isTrue(question, { ...reader, fields: {} }, ...rest),
  },
  'D78: the payload is not read': {
    isTrue: (question, reader, _payload, mails) => RULES.isTrue(question, reader, {}, mails),
  },
  'D80: who is suppressed stays in the flow': {
    leavesBy: (reader, has) => RULES.leavesBy({ ...reader, isSuppressed: false }, has),
  },
  'D80: who is parked stays, whatever happens': { leavesParked: () => undefined },
  'D80: who has left gets mail': { noMail: ({ isSuppressed }) => (isSuppressed ? 'suppressed' : undefined) },
  'D80: a goodbye is a mail like others': {
    noMail: (reader, node) => RULES.noMail(reader, { ...node, isGoodbye: false }),
  },
  'D80: a goodbye goes to who is suppressed': {
    noMail: (reader, node) => RULES.noMail({ ...reader, isSuppressed: false }, node),
  },
  'D81: the same mail again, however soon': { isTooSoon: () => false },
  'D81: days are hours': {
    isTooSoon: (last, now, node) => RULES.isTooSoon(last, (last ?? now) + 24 * (now - (last ?? now)), node),
  },
  'D81: a mail goes once for each node': { passOf: () => 1 },
  'D82: quiet hours are not kept': { quietEnd: () => undefined },
  'D82: quiet hours are those of the list': {
    quietEnd: (quiet, _zone, now) => RULES.quietEnd(quiet, 'Asia/Kolkata', now),
  },
  'D82: transactional mail waits, too': { isHeldBack: () => true },
  'D82: caps are not kept': { capEnd: () => undefined },
  'D82: a cap is one message wider': {
    capEnd: (cap, ...rest) => RULES.capEnd({ ...cap, messages: cap.messages + 1 }, ...rest),
  },
  'D82: a cap is one message narrower': {
    capEnd: (cap, ...rest) => RULES.capEnd({ ...cap, messages: Math.max(1, cap.messages - 1) }, ...rest),
  },
  'D82: a goodbye waits for the cap': {
    capEnd: (cap, asked, now) => RULES.capEnd(cap, { ...asked, status: 'subscribed' }, now),
  },
  'D82: a mail waits for a cap, however long': { mayWaitForCap: () => true },
  'D82: no mail waits for a cap': { mayWaitForCap: () => false },
  'D82: the zone of quiet hours is not read': { quietZone: (_quiet, own) => own },
  'D82: what others get counts for no cap': { countsFor: (_isCustomers, isElsewhere) => !isElsewhere },
  'D82: what others get counts for each cap': { countsFor: () => true },
  'D82: the first cap that allows a message is enough': {
    capsTogether: (one, other) => ({ ...RULES.capsTogether(one, other), until: Math.min(one.until, other.until) }),
  },
  'D82: a message waits for as long as one cap holds it': {
    capsTogether: (one, other) => ({
      ...RULES.capsTogether(one, other),
      holdDays: Math.max(one.holdDays, other.holdDays),
    }),
  },
  'D82: all go when the quiet hours end': { isSpread: (at, end) => at === end },
  'D75: a day fires in every zone': { hasFired: () => false },
  'D76: a changed date fires when the old one comes': {
    movesSlot: (trigger, fields) => RULES.movesSlot(trigger, new Set([...fields].filter((field) => field === 'ZONE'))),
  },
  'D75: a changed zone fires when the old one says': {
    movesSlot: (trigger, fields) => RULES.movesSlot(trigger, new Set([...fields].filter((field) => field !== 'ZONE'))),
  },
  'D76: dates are not yearly': {
    isSlot: (trigger, day, own) =>
      trigger.type === 'date_field'
        ? RULES.isSlot({ ...trigger, yearly: false }, day, own)
        : RULES.isSlot(trigger, day, own),
  },
  'D76: the first year counts': {
    isSlot: (trigger, day, own) =>
      trigger.type === 'date_field'
        ? RULES.isSlot({ ...trigger, notInFirstYear: false }, day, own)
        : RULES.isSlot(trigger, day, own),
  },
  'D76: a shorter month has no last day': {
    isSlot: (trigger, day, own) =>
      RULES.isSlot(trigger, day, own) && (trigger.type !== 'monthly' || Number(day.slice(-2)) === trigger.day),
  },
  'D76: timetables fire each day': {
    isSlot: (trigger, day, own) => trigger.type === 'weekly' || RULES.isSlot(trigger, day, own),
  },
  'D85: what was to come while it was stopped comes': { triggerGoesOn: () => true },
  'D77: any event ends the wait': {
    isEvent: (asked, event, run) => RULES.isEvent({ ...asked, name: event.name }, event, run),
  },
  'D77: values of events are not read': {
    isEvent: ({ where: _where, ...asked }, ...rest) => RULES.isEvent(asked, ...rest),
  },
  'D77: keys of events are not read': {
    isEvent: (asked, ...rest) => RULES.isEvent({ ...asked, sameKey: false }, ...rest),
  },
  'D77: what came before counts': { isWithin: (at, { until }) => at < until },
  'D77: what came too late counts': { isWithin: (at, { from }) => at >= from },
  'D77: all events count from the arrival': { countsFrom: (_from, { since }) => since },
  'D77: all events count from the entry': { countsFrom: (_from, { enteredAt }) => enteredAt },
  'D78: machines open, too': { isAct: (kind, act) => RULES.isAct(kind, act, true) },
  'D78: nobody asks for machines': { isAct: (kind, act) => RULES.isAct(kind, act, false) },
  'D78: an open is a click': { isAct: (_kind, act, machines) => RULES.isAct('opened', act, machines) },
  'D78: a click is no open': {
    isAct: (kind, act, machines) =>
      RULES.isAct(kind, act, machines) && (kind === 'clicked') === (act.type === 'clicked'),
  },
  'D78: any mail of the node counts': { isOfPass: () => true },
  'D79: goals and exits do not read tags': {
    isPerson: (asked, reader) => RULES.isPerson(asked, { ...reader, tags: [] }),
  },
  'D79: exits come first': { waysOut: (goals, exits) => RULES.waysOut(goals, exits).toReversed() },
  'D79: there are no exits': { waysOut: (goals) => RULES.waysOut(goals, []) },
  'D79: nothing is judged before a mail': { isJudgedBeforeMail: false },
  'D76: a changed date moves no wake': {
    movesWake: (node, fields) => RULES.movesWake(node, new Set([...fields].filter((field) => field === 'ZONE'))),
  },
  'D75: a changed zone moves no wake': {
    movesWake: (node, fields) => RULES.movesWake(node, new Set([...fields].filter((field) => field !== 'ZONE'))),
  },
  'D98: opt-outs there are forgotten': { copyRefusal: (reader) => RULES.copyRefusal(reader, undefined) },
  'D98: own values come first': { merged: (there, own) => RULES.merged(there, own, 'overwrite') },
  'D98: values there come first': { merged: (there, own) => RULES.merged(there, own, 'fill_empty') },
  'D98: nothing there is changed': { merged: (there) => there },
  'D83: one pass fewer': { mayPass: (times, max) => times < max },
  'D84: who is inside moves to the new version': { versionOf: (_own, published) => published },
  'D88: due is only who is late': { isDue: (wake, now) => wake < now },
  'a tag in another case stands twice': { withTag: (tags, tag) => (tags.includes(tag) ? tags : [...tags, tag]) },
  'a tag in another case stays': { withoutTag: (tags, tag) => tags.filter((one) => one !== tag) },
  'a variant that does not exist': { isVariant: () => false },
};

function daysOn(at: number, days: number): number {
  return Date.parse(`${daysLater(new Date(at).toISOString().slice(0, DAY), days)}T00:00:00Z`);
}
