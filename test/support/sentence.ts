/** A sentence of the specification, and the test that plays it. */
export interface Sentence {
  /** The section, or the decision. */
  readonly of: string;
  readonly says: string;
  readonly playedBy: PlaceOfTest;
  /** Absent: it is about one process, or about the database that all share. */
  readonly onTwo?: PlaceOfTest;
}

/** A file, and the title of a test as it is written there. */
export type PlaceOfTest = readonly [file: string, title: string];

/** A test that has several processes by itself. */
export function two(of: string, says: string, playedBy: PlaceOfTest): Sentence {
  return { of, says, playedBy, onTwo: playedBy };
}

export function one(of: string, says: string, playedBy: PlaceOfTest): Sentence {
  return { of, says, playedBy };
}
