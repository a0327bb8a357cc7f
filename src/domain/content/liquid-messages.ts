/** The messages between the process and the thread that runs Liquid. */
import type { PartName } from './message.ts';

/** A template as the thread receives it. */
export interface LiquidSource {
  readonly source: string;
  readonly isHtml: boolean;
  /** The field that its fault is reported on. */
  readonly field: PartName;
}

/** Variables of a template: texts, and objects of texts. Data that comes with a mail has numbers, lists and so on, too. */
export interface LiquidData {
  [name: string]: LiquidValue;
}
export type LiquidValue = string | number | boolean | null | LiquidData | LiquidValue[];

/** Without `data` it is only parsed. */
export interface LiquidJob {
  readonly id: number;
  readonly template: number;
  readonly data?: LiquidData;
}

/** A filter of a plugin, for the thread. */
export interface LiquidFilterModule {
  readonly plugin: string;
  readonly name: string;
  /** The address of its module. */
  readonly module: string;
  readonly export: string;
}

export interface LiquidRequest {
  /** Only in the first request of a thread. */
  readonly filters?: readonly LiquidFilterModule[];
  /** Templates that are new to the thread, by number. */
  readonly templates: readonly (readonly [number: number, source: LiquidSource])[];
  /** Templates that it may drop. */
  readonly discard: readonly number[];
  readonly jobs: readonly LiquidJob[];
}

/** A template in parts: texts that are the same for everybody, and null for every slot. */
export type LiquidGroups = readonly (string | null)[];

export type LiquidAnswer = { readonly id: number } & (
  | { readonly groups: LiquidGroups }
  /** The results of the slots, in order. */
  | { readonly texts: readonly string[] }
  | { readonly fault: LiquidFault }
);

export interface LiquidFault {
  readonly field: PartName;
  readonly text: string;
  readonly isRunaway: boolean;
  /** The plugin whose filter has failed; undefined: the template is at fault. */
  readonly plugin?: string | undefined;
}
