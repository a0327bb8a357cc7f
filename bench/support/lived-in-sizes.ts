/** How much a lived-in database holds, and what the parts of filling it share. */
export interface LivedInSizes {
  /** Of the operator's own account, whose token the benches use. */
  readonly largeList: number;
  readonly largeCampaigns: number;
  readonly secondList: number;
  readonly secondCampaigns: number;
  /** Further customers, each with one list of this many people. */
  readonly customers: number;
  readonly peopleEach: number;
  /** Of further customers, one each. */
  readonly smallCampaigns: number;
  readonly suppressed: number;
}

/** A statement, and what it makes. */
export type Step = readonly [name: string, statement: string];

const FULL: LivedInSizes = {
  largeList: 600_000,
  largeCampaigns: 16,
  secondList: 100_000,
  secondCampaigns: 7,
  customers: 2_000,
  peopleEach: 150,
  smallCampaigns: 37,
  suppressed: 50_000,
};
const CUSTOMERS_MIN = 40;
const PEOPLE_MIN = 300;
const SUPPRESSED_MIN = 50;

export const LARGE_LIST = 'Everybody';
export const SECOND_LIST = 'Friends';
/** `scale` 1 is the whole of it: a million people, ten million rows of the ledger. */
export function sizesAt(scale: number): LivedInSizes {
  return {
    ...FULL,
    largeList: Math.max(PEOPLE_MIN, Math.round(FULL.largeList * scale)),
    secondList: Math.max(PEOPLE_MIN, Math.round(FULL.secondList * scale)),
    customers: Math.max(CUSTOMERS_MIN, Math.round(FULL.customers * scale)),
    suppressed: Math.max(SUPPRESSED_MIN, Math.round(FULL.suppressed * scale)),
  };
}

/** A uid that follows from a text, as SQL. */
export const uid = (text: string): string => `left(md5(${text}), 13)`;
