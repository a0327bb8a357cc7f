/** What the process and the thread that runs Liquid say to each other. */
import type { PartName } from './message.ts';

/** A template as the thread gets it. */
export interface LiquidSource {
  readonly source: string;
  readonly isHtml: boolean;
  /** The field to name when it has a fault. */
  readonly field: PartName;
}

/** Variables of a template: texts, and objects of texts. */
export interface LiquidData {
  [name: string]: string | LiquidData;
}

/** Without `data` it is only parsed. */
export interface LiquidJob {
  readonly id: number;
  readonly template: number;
  readonly data?: LiquidData;
}

export interface LiquidRequest {
  /** Templates that the thread does not know yet, by number. */
  readonly templates: readonly (readonly [number: number, source: LiquidSource])[];
  /** Templates that it need not know any longer. */
  readonly forget: readonly number[];
  readonly jobs: readonly LiquidJob[];
}

/** A template taken apart: texts that are the same for everybody, and null for every slot. */
export type LiquidGroups = readonly (string | null)[];

export type LiquidAnswer = { readonly id: number } & (
  | { readonly groups: LiquidGroups }
  /** What the slots came to, in their order. */
  | { readonly texts: readonly string[] }
  | { readonly fault: { readonly field: PartName; readonly text: string; readonly isRunaway: boolean } }
);
