/** What the reference knows of a flow's format: the published JSON, read without the code of the product. */

export interface Duration {
  readonly minutes?: number;
  readonly hours?: number;
  readonly days?: number;
  readonly weeks?: number;
}

/** One of them. */
export interface Question {
  readonly all?: readonly Question[];
  readonly any?: readonly Question[];
  readonly none?: readonly Question[];
  readonly person?: {
    readonly field?: { readonly tag: string; readonly text: TextQuestion };
    readonly tags?: { readonly hasAny?: readonly string[]; readonly hasNone?: readonly string[] };
  };
  readonly payload?: {
    readonly path: string;
    readonly text?: TextQuestion;
    readonly number?: { readonly gte?: number; readonly lt?: number };
    readonly isPresent?: boolean;
  };
  readonly opened?: MailQuestion;
  readonly clicked?: MailQuestion;
}

/** About a mail of this run: the node that sent it. */
export interface MailQuestion {
  readonly mail: string;
  readonly machines?: boolean;
}

/** What a person does, as a wait, a goal or an exit asks for it. */
export type AskedAct =
  | {
      readonly type: 'event';
      readonly name: string;
      readonly where?: readonly NonNullable<Question['payload']>[];
      readonly sameKey?: boolean;
    }
  | { readonly type: 'opened' | 'clicked'; readonly mail?: string; readonly machines?: boolean };

/** A goal or an exit: one of the two. */
export interface WayOut {
  readonly id: string;
  readonly event?: AskedAct;
  readonly person?: NonNullable<Question['person']>;
}

export interface TextQuestion {
  readonly is?: string;
  readonly isNot?: string;
  readonly contains?: string;
  readonly isEmpty?: boolean;
}

interface Rest {
  readonly id: string;
}

export interface WaitNode extends Rest {
  readonly type: 'wait';
  readonly for: Duration;
  readonly at?: string;
  readonly weekdays?: readonly number[];
  readonly skipHolidays?: boolean;
}

export interface UntilNode extends Rest {
  readonly type: 'wait_until';
  readonly date?: string;
  readonly field?: string;
  readonly weekdays?: readonly number[];
  readonly at: string;
  readonly before?: Duration;
  readonly after?: Duration;
  readonly yearly?: boolean;
}

/** The mails of histories: by `A` to `C` and what their readers take them for. */
export const TEMPLATES = { A: 'marketing', B: 'transactional', C: 'marketing' } as const;

export interface MailNode extends Rest {
  readonly type: 'send_mail';
  readonly templateUid: keyof typeof TEMPLATES;
  readonly notAgainWithinDays?: number;
  readonly isGoodbye?: boolean;
}

export interface EventWaitNode extends Rest {
  readonly type: 'wait_for_event';
  readonly event: AskedAct;
  readonly for: Duration;
  readonly countsFrom: 'arrival' | 'entry';
}

export interface CopyNode extends Rest {
  readonly type: 'copy_to_list' | 'move_to_list';
  readonly onConflict: 'keep' | 'overwrite' | 'fill_empty';
}

export type NodeData =
  | WaitNode
  | UntilNode
  | MailNode
  | EventWaitNode
  | CopyNode
  | (Rest & { readonly type: 'condition'; readonly if: Question })
  | (Rest & {
      readonly type: 'split';
      readonly variants: readonly { readonly name: string; readonly percent: number }[];
    })
  | (Rest & { readonly type: 'add_tag' | 'remove_tag'; readonly tag: string })
  | (Rest & { readonly type: 'set_field'; readonly field: string; readonly value: string })
  | (Rest & { readonly type: 'unsubscribe' | 'webhook' | 'end' })
  /** Without `for` it waits without end. */
  | (Rest & { readonly type: 'api_call'; readonly for?: Duration })
  /** `flow`: which of the others. */
  | (Rest & { readonly type: 'start_flow'; readonly flow: number });

export type EntryData =
  | { readonly mode: 'once' | 'after_end' }
  | { readonly mode: 'after_days'; readonly days: number }
  | { readonly mode: 'per_key'; readonly key: string };

interface Timed {
  readonly at: string;
  /** Only who is so then. */
  readonly if?: NonNullable<Question['person']>;
}

export interface DateTrigger extends Timed {
  readonly type: 'date_field';
  readonly field: string;
  readonly before?: Duration;
  readonly after?: Duration;
  readonly yearly?: boolean;
  readonly notInFirstYear?: boolean;
}

export type TimedTrigger =
  | DateTrigger
  | (Timed & { readonly type: 'specific_date'; readonly date: string })
  | (Timed & { readonly type: 'weekly'; readonly weekdays: readonly number[] })
  | (Timed & { readonly type: 'monthly'; readonly day: number });

export interface FlowData {
  readonly triggers: readonly ({ readonly type: 'execute' } | TimedTrigger)[];
  readonly entry: EntryData;
  readonly nodes: readonly NodeData[];
  readonly edges: readonly { readonly from: string; readonly port: string; readonly to: string }[];
  readonly goals?: readonly WayOut[];
  readonly exits?: readonly WayOut[];
  readonly holidays: readonly string[];
  readonly passesMax: number;
}

export type Payload = Readonly<Record<string, string | number>>;

/** What happens, in its order; `at` never goes back. */
export type Happening = {
  readonly at: number;
  /** A process dies after so many statements of what it does then; another one goes on at the same time. */
  readonly dies?: number;
  /** It is read together with what happens next, as of a bulk act. */
  readonly isUnread?: boolean;
} &
  /** `isLate`: it was on its way into the version before when the last one was published. */
  (
    | { readonly do: 'execute'; readonly person: number; readonly payload: Payload; readonly isLate?: boolean }
    | { readonly do: 'set'; readonly person: number; readonly field: string; readonly value: string }
    | { readonly do: 'tag'; readonly person: number; readonly tag: string }
    | { readonly do: 'unsubscribe' | 'delete' | 'suppress'; readonly person: number }
    /** Those who run the flow take the person out of it. */
    | { readonly do: 'take_out'; readonly person: number }
    /** A program calls the API-call node, for who waits there: for the person, or for everybody. */
    | { readonly do: 'call'; readonly person: number; readonly node: string; readonly payload: Payload }
    | { readonly do: 'call_all'; readonly node: string; readonly payload: Payload }
    /** A campaign's message to the person is handed over; `isElsewhere`: as to a reader of another list. */
    | { readonly do: 'campaign'; readonly person: number; readonly isElsewhere?: boolean }
    /** Everybody who is on the list and may enter does. */
    | { readonly do: 'existing' }
    /** All who are parked at this node, in any version, try again, or pass over it. */
    | { readonly do: 'retry' | 'skip'; readonly node: string }
    /** Reported from outside. */
    | { readonly do: 'event'; readonly person: number; readonly name: string; readonly payload: Payload }
    /** Of the last mail to the person from this node; nothing without one. */
    | { readonly do: 'open' | 'click'; readonly person: number; readonly node: string; readonly isMachine: boolean }
    /** The next flow of the history is published; with `moves`, who is inside is moved to it later. */
    | { readonly do: 'publish'; readonly moves?: MovesData }
    /** The job of the last publication with moves; `isLast`: its last round. */
    | { readonly do: 'move'; readonly isLast?: boolean; readonly killAfter?: number }
    /** Who has finished an earlier version is sent to this node of the live one. */
    | { readonly do: 'send'; readonly node: string }
    | { readonly do: 'pause' }
    /** All flows that this one starts are stopped. */
    | { readonly do: 'stop' }
    /** `late`: what is chosen for who is late by more than an hour; absent: they go on at once. */
    | { readonly do: 'activate'; readonly late?: LateChoice }
    /** The worker works until nothing is due; with `killAfter` it dies after so many statements first. */
    | { readonly do: 'work'; readonly killAfter?: number }
  );

export interface LateChoice {
  readonly mode: 'spread' | 'skip_mails' | 'wait_anew';
  /** To spread them over; or how old mails are that are skipped. */
  readonly hours: number;
}

/** From nodes of earlier versions to those of the new one. */
export type Targets = Readonly<Record<string, string>>;

export interface MovesData {
  readonly named: Targets;
  /** Named, too, when the product says that they are missing. */
  readonly whenAsked: Targets;
  /** Who is parked is moved, too. */
  readonly parked: boolean;
}

export interface HistoryData {
  readonly flows: readonly FlowData[];
  /** Other flows, of one version each, that nodes start; each may start those behind it. */
  readonly started?: readonly FlowData[];
  /** The fields that each person begins with. */
  readonly people: readonly Readonly<Record<string, string>>[];
  readonly happenings: readonly Happening[];
  /** Of the list. */
  readonly quiet?: QuietHours;
  readonly cap?: FrequencyCap;
  /** Of all lists of the customer together. */
  readonly customerCap?: FrequencyCap;
  /** The same addresses on the other list, to which people are copied; undefined: they are not there. */
  readonly there?: readonly (PersonThere | undefined)[];
}

export interface QuietHours {
  readonly from: string;
  readonly to: string;
  /** For everybody; absent: each person's own. */
  readonly timezone?: string;
}

/** So many messages within so many days; what would wait for longer than `holdDays` is not sent. */
export interface FrequencyCap {
  readonly messages: number;
  readonly days: number;
  readonly holdDays: number;
}

export interface PersonThere {
  readonly status: string;
  readonly tags: readonly string[];
  readonly level: string;
}

/** A mail of a flow: which, to whom, from where; `pass`: how often the run came to the node. */
export interface Mail {
  readonly person: number;
  readonly run: string;
  readonly node: string;
  readonly pass: number;
  readonly template: string;
}

/** Webhooks were fired for the person at the node. */
export type Firing = Pick<Mail, 'person' | 'node'>;

/** One step of one person, as the history of the product shows it. */
export interface Step {
  readonly at: number;
  readonly person: number;
  /** Key and time of the entry. */
  readonly run: string;
  readonly node: string;
  readonly what: string;
  readonly port: string | null;
  readonly reason: string | null;
}
