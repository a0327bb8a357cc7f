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

export type NodeData =
  | WaitNode
  | UntilNode
  | (Rest & { readonly type: 'condition'; readonly if: Question })
  | (Rest & {
      readonly type: 'split';
      readonly variants: readonly { readonly name: string; readonly percent: number }[];
    })
  | (Rest & { readonly type: 'add_tag' | 'remove_tag'; readonly tag: string })
  | (Rest & { readonly type: 'set_field'; readonly field: string; readonly value: string })
  | (Rest & { readonly type: 'unsubscribe' | 'end' });

export type EntryData =
  | { readonly mode: 'once' | 'after_end' }
  | { readonly mode: 'after_days'; readonly days: number }
  | { readonly mode: 'per_key'; readonly key: string };

export interface FlowData {
  readonly triggers: readonly { readonly type: 'execute' }[];
  readonly entry: EntryData;
  readonly nodes: readonly NodeData[];
  readonly edges: readonly { readonly from: string; readonly port: string; readonly to: string }[];
  readonly holidays: readonly string[];
  readonly passesMax: number;
}

export type Payload = Readonly<Record<string, string | number>>;

/** What happens, in its order; `at` never goes back. */
export type Happening = { readonly at: number } & (
  | { readonly do: 'execute'; readonly person: number; readonly payload: Payload }
  | { readonly do: 'set'; readonly person: number; readonly field: string; readonly value: string }
  | { readonly do: 'tag'; readonly person: number; readonly tag: string }
  | { readonly do: 'unsubscribe' | 'delete'; readonly person: number }
  /** The next flow of the history is published. */
  | { readonly do: 'publish' }
  | { readonly do: 'pause' | 'activate' }
  /** The worker works until nothing is due; with `killAfter` it dies after so many statements first. */
  | { readonly do: 'work'; readonly killAfter?: number }
);

export interface HistoryData {
  readonly flows: readonly FlowData[];
  /** The fields that each person begins with. */
  readonly people: readonly Readonly<Record<string, string>>[];
  readonly happenings: readonly Happening[];
}

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
