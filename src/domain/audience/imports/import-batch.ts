/**
 * The part of a file that is written in one transaction: people by address, rejected lines, and where the file is
 * read on. A person who comes twice is one person: what the later line says is added to, and wins over, the earlier.
 */
import { distinctTags } from '../subscriber.ts';
import type { CsvRecord } from './csv-scanner.ts';
import type { Person, PersonReader } from './person.ts';

export interface Rejection {
  readonly line: number;
  readonly reason: string;
  readonly cells: readonly string[];
}

export class ImportBatch {
  readonly people = new Map<string, Person>();
  readonly rejections: Rejection[] = [];
  /**
   * Lines of people that came before in the same batch, by whether they said anything new. They count as updated or
   * unchanged; which of the two may depend on where a batch ends, their sum and everything else does not.
   */
  repeatsChanged = 0;
  repeatsSame = 0;
  /** Offset of the first byte. */
  readonly start: number;
  /** Offset of the byte, and number of lines, behind the last record. */
  end: number;
  linesRead: number;
  readonly #reader: PersonReader;
  readonly #updateExisting: boolean;

  constructor(reader: PersonReader, from: { end: number; linesRead: number }, updateExisting: boolean) {
    this.#reader = reader;
    this.start = from.end;
    this.end = from.end;
    this.linesRead = from.linesRead;
    this.#updateExisting = updateExisting;
  }

  /** Lines with something in them. */
  get processed(): number {
    return this.people.size + this.rejections.length + this.repeatsChanged + this.repeatsSame;
  }

  add(record: CsvRecord): void {
    this.end = record.end;
    this.linesRead = record.line + record.lines - 1;
    const person = this.#reader.read(record);
    if (person === undefined) return;
    if (typeof person === 'string') {
      this.rejections.push({ line: record.line, reason: person, cells: record.cells });
      return;
    }
    const known = this.people.get(person.key);
    if (!known) this.people.set(person.key, person);
    else if (this.#updateExisting && this.#merge(known, person)) this.repeatsChanged++;
    else this.repeatsSame++;
  }

  /** Adds what the later line says; answers whether that was anything new. */
  #merge(known: Person, later: Person): boolean {
    let isNew = false;
    for (const { index } of this.#reader.fieldColumns) {
      const value = later.cells[index] ?? '';
      if (value === '' || value === known.cells[index]) continue;
      known.cells[index] = value;
      isNew = true;
    }
    // Who unsubscribed stays so, within a file as between files.
    if (later.status !== undefined && later.status !== known.status && known.status !== 'unsubscribed') {
      known.status = later.status;
      isNew = true;
    }
    const tags = distinctTags([...known.tags, ...later.tags]);
    if (tags.length > known.tags.length) {
      known.tags = tags;
      isNew = true;
    }
    return isNew;
  }
}
