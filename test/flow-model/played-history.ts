/** Plays a history on the product's engine: what it has written down then, to be compared with the reference. */
import { setImmediate } from 'node:timers/promises';
import { openDatabase, sql } from '../../src/db/database.ts';
import { lastPersonEventId } from '../../src/events/person-event-read-model.ts';
import { recordPersonEvents } from '../../src/events/person-event-store.ts';
import { deleteSubscriber } from '../../src/domain/audience/delete-subscriber.ts';
import { tagSubscriber } from '../../src/domain/audience/tag-subscriber.ts';
import { unsubscribeSubscriber } from '../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../src/domain/audience/update-subscriber.ts';
import { callEverybody } from '../../src/domain/automations/api-calls/call-everybody.ts';
import { advanceDue } from '../../src/domain/automations/engine/advance-due.ts';
import { FlowFaultsError } from '../../src/domain/automations/automation-errors.ts';
import { databaseNow } from '../../src/domain/automations/runs/clock-read-model.ts';
import { deleteAutomation } from '../../src/domain/automations/delete-automation.ts';
import type { Enrolment } from '../../src/domain/automations/entries/enrolment-read-model.ts';
import { enterPeople, type EntryAnswer } from '../../src/domain/automations/entries/enter-people.ts';
import { countFinished } from '../../src/domain/automations/versions/finished-people-store.ts';
import { followActivity } from '../../src/domain/automations/events/follow-activity.ts';
import { followFlow } from '../../src/domain/automations/events/follow-flow.ts';
import { liveFlow } from '../../src/domain/automations/runs/live-flow.ts';
import { takeOut } from '../../src/domain/automations/runs/parked-runs.ts';
import { resumeNodes } from '../../src/domain/automations/runs/late-run-store.ts';
import { lookAgain } from '../../src/domain/automations/stopping/look-again.ts';
import { movePeople } from '../../src/domain/automations/versions/move-people.ts';
import { publishAutomation, publishWithMoves } from '../../src/domain/automations/versions/publish-automation.ts';
import { runTriggers } from '../../src/domain/automations/triggers/run-triggers.ts';
import { sendToFinishedPeople } from '../../src/domain/automations/versions/send-to-finished.ts';
import { setAutomationStatus } from '../../src/domain/automations/stopping/set-automation-status.ts';
import { updateAutomation } from '../../src/domain/automations/update-automation.ts';
import { inTransaction, type Context } from '../../src/domain/context.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { FlowData, Happening, HistoryData, MovesData, PersonThere, Targets } from './flow-data.ts';
import type { FlowTrace } from './flow-reference.ts';
import {
  beginEnrolment,
  callPerson,
  chooseForLatePeople,
  enrolPeople,
  moveTakingOut,
  unparkPeople,
} from './played-operations.ts';
import { actOnMail, daysOf, peopleOf, rememberKeys, thereOf, traceOf, waitsOf } from './played-rows.ts';
import { settleTriggers } from '../support/trigger-world.ts';
import { addPeople, flowOfProduct, publishFlows, startStage, type PublishedFlow, type Stage } from './stage.ts';
import type { DayCounts } from './triggers.ts';

/** PostgreSQL ends what a dead process had begun when it notices: then its rows are free. */
const DYING = 'mailwright-dying';
const HOUR_MS = 3_600_000;
/** The job looks at changes of so long before, too: nobody knows when their transactions began. */
const LOOKS_BEFORE_MS = HOUR_MS;
const IN_MOVE = 'PEOPLE_IN_MOVE';

export interface Played {
  /** The flow of the history, and those that it starts. */
  readonly flows: readonly FlowTrace[];
  readonly refusals: readonly (string | undefined)[];
  readonly publications: readonly string[];
  readonly sent: readonly number[];
  readonly people: readonly { readonly status: string; readonly tags: readonly string[]; readonly level: string }[];
  readonly there: readonly (PersonThere | undefined)[];
  readonly days: ReadonlyMap<string, DayCounts>;
}

export type Player = (history: HistoryData) => Promise<Played>;

/** A list in a database of its own; histories are played one after the other. */
export async function startPlayer(): Promise<Player> {
  const stage = await startStage();
  return async (history) => {
    const people = await addPeople(stage, history);
    const { main, others } = await publishFlows(stage, history);
    const play = new Play(stage, history, { ...main, ...people, others });
    const played = await play.all();
    for (const { uid } of [main, ...others]) await deleteAutomation(stage.ctx, uid);
    await stage.removePeople(people.emails);
    return played;
  };
}

interface Begun extends PublishedFlow {
  readonly ids: readonly bigint[];
  readonly emails: readonly string[];
  readonly others: readonly PublishedFlow[];
}

class Play {
  readonly #stage: Stage;
  readonly #history: HistoryData;
  readonly #begun: Begun;
  readonly #refusals: (string | undefined)[] = [];
  readonly #publications: string[] = [];
  readonly #sent: number[] = [];
  /** Of each flow. */
  readonly #waits: (readonly string[])[][];
  #version: number;
  /** The version to which people are moved. */
  #moving: number | undefined;
  #draft = 1;
  #stoppedAt = new Date(0);
  #enrolment: Enrolment | undefined;
  #acts = 0;
  /** Of the entries of runs. */
  readonly #keys = new Map<bigint, string>();

  constructor(stage: Stage, history: HistoryData, begun: Begun) {
    this.#stage = stage;
    this.#history = history;
    this.#begun = begun;
    this.#version = begun.version;
    this.#waits = this.#flows.map(() => []);
  }

  async all(): Promise<Played> {
    await settleTriggers(this.#stage.ctx, this.#stage.list.customerId, new Date(this.#history.happenings[0]?.at ?? 0));
    for (const one of this.#history.happenings) {
      await this.#happens(one);
      if (one.isUnread === true || ('killAfter' in one && one.killAfter !== undefined)) continue;
      await this.#doing(one, async (ctx) => {
        await this.#fire(ctx, new Date(one.at));
        await this.#follow(ctx, new Date(one.at));
      });
      if (one.do !== 'work') continue;
      for (const [no, flow] of this.#flows.entries()) this.#waits[no]?.push(await waitsOf(this.#rowsOf(flow)));
    }
    const flows: FlowTrace[] = [];
    for (const [no, flow] of this.#flows.entries())
      flows.push({ ...(await traceOf(this.#rowsOf(flow))), waits: this.#waits[no] ?? [] });
    return {
      ...{ flows, refusals: this.#refusals, publications: this.#publications, sent: this.#sent },
      ...{ days: await daysOf(this.#rows), people: await peopleOf(this.#rows), there: await thereOf(this.#rows) },
    };
  }

  get #key() {
    return this.#begun.key;
  }

  /** The version of the first is another one from time to time. */
  get #flows(): readonly PublishedFlow[] {
    return [{ ...this.#begun, version: this.#version }, ...this.#begun.others];
  }

  get #rows() {
    return this.#rowsOf(this.#begun);
  }

  #rowsOf({ key }: PublishedFlow) {
    const { ids, emails } = this.#begun;
    return { stage: this.#stage, key, ids, emails, keys: this.#keys };
  }

  #idOf(person: number): bigint {
    return this.#begun.ids[person] ?? 0n;
  }

  #refOf(person: number) {
    return { subscriber: subscriberUid(this.#idOf(person)), listUid: this.#stage.list.uid };
  }

  async #happens(one: Happening): Promise<void> {
    const { ctx, list } = this.#stage;
    const now = new Date(one.at);
    switch (one.do) {
      case 'execute':
        this.#refusals.push(await this.#execute(one));
        return;
      case 'set':
        await ignoringGone(
          updateSubscriber(ctx, { ...this.#refOf(one.person), fieldValues: { [one.field]: one.value } }),
        );
        return;
      case 'tag':
        await ignoringGone(tagSubscriber(ctx, { ...this.#refOf(one.person), tags: [one.tag] }));
        return;
      case 'unsubscribe':
        await ignoringGone(unsubscribeSubscriber(ctx, this.#refOf(one.person)));
        return;
      case 'delete':
        await ignoringGone(deleteSubscriber(ctx, this.#refOf(one.person)));
        return;
      case 'take_out':
        await this.#doing(one, (context) => ignoringGone(takeOut(context, this.#begun.uid, this.#refOf(one.person))));
        return moveTakingOut(ctx, this.#key, now);
      case 'call':
      case 'call_all':
        return this.#doing(one, (context) => this.#call(context, one));
      case 'suppress':
        await this.#stage.suppress(this.#idOf(one.person));
        return;
      case 'event': {
        const event = {
          personId: this.#idOf(one.person),
          kind: 'event',
          at: now,
          name: one.name,
          data: one.payload,
        } as const;
        return recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [event]);
      }
      case 'open':
      case 'click':
        this.#acts += 1;
        return actOnMail(this.#rows, { ...one, no: this.#acts, personId: this.#idOf(one.person) });
      case 'publish':
        return this.#publish(this.#history.flows[this.#version], one.moves);
      case 'move':
        if (one.killAfter === undefined) return this.#move(ctx, one);
        return this.#die(one.killAfter, (dying) => this.#move(dying, one));
      case 'send':
        return this.#send(one);
      case 'existing':
        return this.#enterExisting(one);
      case 'campaign':
        return this.#stage.handOver(this.#idOf(one.person), one);
      case 'retry':
      case 'skip':
        return unparkPeople(ctx, this.#key, {
          versions: this.#version,
          node: one.node,
          isSkip: one.do === 'skip',
          now,
        });
      case 'pause':
        await setAutomationStatus(ctx, this.#begun.uid, 'inactive');
        this.#stoppedAt = await databaseNow(ctx.db);
        return;
      case 'stop':
        for (const { uid } of this.#begun.others) await setAutomationStatus(ctx, uid, 'inactive');
        return;
      case 'activate':
        return this.#goOn(one);
      case 'work':
        if (one.killAfter === undefined) await advanceDue(ctx, { now: () => now, isStopping: () => false });
        else await this.#die(one.killAfter, (dying) => advanceDue(dying, { now: () => now, isStopping: () => false }));
    }
  }

  /** The process that does it may die first; another one goes on. */
  async #doing({ dies }: Happening, work: (ctx: Context) => Promise<void>): Promise<void> {
    if (dies !== undefined) await this.#die(dies, work);
    await work(this.#stage.ctx);
  }

  /** Dates and timetables bring people in. */
  async #fire(ctx: Context, now: Date): Promise<void> {
    if (this.#history.flows.every(({ triggers }) => triggers.length === 1)) return;
    await settleTriggers(this.#stage.ctx, this.#stage.list.customerId, now);
    await runTriggers(ctx, { now: () => now, isStopping: () => false });
  }

  /** Reads what has happened to people and what they did, as the processes do at once. */
  async #follow(ctx: Context, now: Date): Promise<void> {
    const { list } = this.#stage;
    const upTo = await lastPersonEventId(ctx.database);
    for (const { key, version } of this.#flows) {
      const behind = { ...key, version, listId: list.id };
      let read: string = 'some';
      while (read === 'some') read = await followFlow(ctx, behind, { upTo, now });
    }
    if (this.#acts === 0) return;
    await ctx.db.execute(sql`UPDATE hot.flow_activity SET due_at = now() WHERE customer_id = ${list.customerId}`);
    await followActivity(ctx, { isStopping: () => false, now: () => now });
  }

  async #execute({
    person,
    payload,
    isLate = false,
    at,
  }: Extract<Happening, { do: 'execute' }>): Promise<string | undefined> {
    const { ctx } = this.#stage;
    const now = new Date(at);
    const live = await liveFlow(ctx, { ...this.#key, version: Math.max(1, this.#version - (isLate ? 1 : 0)) });
    if (!live) throw new Error('The version is not there.');
    const { entry } = live.flow;
    const entryKey = entry.mode === 'per_key' ? String(payload[entry.key] ?? '') : '';
    const entrant = { personId: this.#idOf(person), entryKey, payload, depth: 0, reason: 'execute' };
    const [answer] = await inTransaction(ctx, (tx) => enterPeople(tx, live, { entrants: [entrant], now }));
    return answer && refusalOf(answer);
  }

  async #call(ctx: Context, one: Extract<Happening, { do: 'call' | 'call_all' }>): Promise<void> {
    const payload = Object.keys(one.payload).length === 0 ? null : one.payload;
    const [key, call] = [
      { ...this.#key, node: one.node },
      { payload, calledAt: new Date(one.at) },
    ];
    if (one.do === 'call_all') return callEverybody(ctx, { ...key, ...call }, () => false);
    return callPerson(ctx, key, { ...call, versions: this.#version, personId: this.#idOf(one.person) });
  }

  async #publish(flow: FlowData | undefined, moves: MovesData | undefined): Promise<void> {
    const { ctx } = this.#stage;
    const { uid, others } = this.#begun;
    await updateAutomation(ctx, uid, { flow: flowOfProduct(this.#stage, flow, others), draftVersion: this.#draft });
    this.#draft += 1;
    if (!moves) {
      ({ number: this.#version } = await publishAutomation(ctx, uid, this.#draft));
      return;
    }
    const { named, whenAsked, parked } = moves;
    const missing = await this.#publishWith(named, parked);
    this.#publications.push(missing.join(' '));
    if (missing.length === 0 || missing.includes(IN_MOVE)) return;
    const asked = Object.fromEntries(Object.entries(whenAsked).filter(([id]) => missing.includes(id)));
    const still = await this.#publishWith({ ...named, ...asked }, parked);
    if (still.length > 0) throw new Error(`The moves have faults: ${still.join(' ')}`);
  }

  /** Nothing, or for which nodes a target is missing. */
  async #publishWith(moves: Targets, moveParked: boolean): Promise<readonly string[]> {
    const asked = { draftVersion: this.#draft, moves, moveParked };
    try {
      ({ number: this.#version } = await publishWithMoves(this.#stage.ctx, this.#begun.uid, asked));
      this.#moving = this.#version;
      return [];
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === IN_MOVE) return [IN_MOVE];
      if (!(error instanceof FlowFaultsError) || error.faults.some(({ field }) => field !== 'moves')) throw error;
      return error.faults.map(({ node, code }) => (code === 'no_target' ? (node ?? '') : `${node} ${code}`)).toSorted();
    }
  }

  async #move(ctx: Context, { at, isLast = false }: Extract<Happening, { do: 'move' }>): Promise<void> {
    if (this.#moving === undefined) return;
    const moving = { ...this.#key, version: this.#moving, afterId: 0n, isLast, now: new Date(at) };
    await movePeople(ctx, moving, () => false);
  }

  /** The action asks the clock of the database: its count and its job are asked here, at the time of the history. */
  async #send(one: Extract<Happening, { do: 'send' }>): Promise<void> {
    const { ctx, list } = this.#stage;
    const now = new Date(one.at);
    const question = { ...this.#key, version: this.#version, until: now };
    this.#sent.push(await countFinished(ctx.db, { ...question, listId: list.id }));
    await rememberKeys(this.#rows);
    const sending = { ...question, node: one.node, afterId: 0n, now };
    await this.#doing(one, (context) => sendToFinishedPeople(context, sending, () => false));
  }

  /** The same of what is chosen for late people. The job looks at who was changed since the flow was stopped, which the clock of the database says. */
  async #goOn(one: Extract<Happening, { do: 'activate' }>): Promise<void> {
    const { ctx } = this.#stage;
    const now = new Date(one.at);
    await inTransaction(ctx, ({ tx }) => resumeNodes(tx, this.#key, now));
    await setAutomationStatus(ctx, this.#begun.uid, 'active', { mode: 'now' });
    const { late } = one;
    if (late) await chooseForLatePeople(ctx, this.#key, { late, now });
    const since = new Date(this.#stoppedAt.getTime() + LOOKS_BEFORE_MS);
    await this.#doing(one, (context) => lookAgain(context, { ...this.#key, since, now }, () => false));
  }

  async #enterExisting(one: Happening): Promise<void> {
    await this.#doing(one, async (ctx) => {
      const asked = { ...this.#key, listId: this.#stage.list.id };
      this.#enrolment = await beginEnrolment(this.#stage.ctx, asked, this.#enrolment);
      await enrolPeople(ctx, this.#enrolment, new Date(one.at));
    });
  }

  /** Its connections are cut after so many messages to the database: what a killed process leaves. */
  async #die(killAfter: number, work: (ctx: Context) => Promise<unknown>): Promise<void> {
    const { ctx, proxy } = this.#stage;
    const database = openDatabase({ url: proxy.url, poolSize: 2, log: silentLog, applicationName: DYING });
    proxy.cutAfter(killAfter);
    try {
      await work({ ...ctx, db: database, database });
    } catch {
      // It has died.
    } finally {
      await database.close().catch(() => undefined);
    }
    const there = sql`SELECT 1 FROM pg_stat_activity WHERE application_name = ${DYING} AND datname = current_database()`;
    while ((await ctx.db.execute(there)) > 0) await setImmediate();
  }
}

function refusalOf(answer: EntryAnswer): string | undefined {
  if (!('refused' in answer)) return undefined;
  return answer.refused === 'unknown_person' ? 'SUBSCRIBER_NOT_FOUND' : answer.refused;
}

/** Who was deleted in a history is not there for what happens later. */
async function ignoringGone(act: Promise<unknown>): Promise<void> {
  await act.catch((error: unknown) => {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'SUBSCRIBER_NOT_FOUND') throw error;
  });
}
