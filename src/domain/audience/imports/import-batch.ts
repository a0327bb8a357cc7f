/**
 * The part of a file that is written in one transaction: people by address, rejected lines, and where the file is
 * read on. A person who comes twice is one person: what the later line says is added to, and wins over, the earlier.
 */
import type { CsvScanner } from './csv-scanner.ts';
import type { Comparison, KnownMembers } from './known-members.ts';
import { PackedPeople, type RowFrame } from './packed-people.ts';
import { mergePerson, type Person, type PersonReader } from './person.ts';
import { RecordComparer } from './record-comparer.ts';
import { RecordPacker } from './record-packer.ts';
import type { Rejection } from './rejections.ts';

export interface BatchOptions {
  readonly reader: PersonReader;
  readonly frame: RowFrame;
  readonly updateExisting: boolean;
  /** Lines a batch may have. */
  readonly linesMax: number;
  /** Who was on the list before, where that is known. */
  readonly members: KnownMembers | undefined;
}

/** One object serves many batches, one after the other. */
export class ImportBatch {
  readonly people: PackedPeople;
  rejections: Rejection[] = [];
  /**
   * Lines of people that came before in the same batch, by whether they said anything new. They count as updated or
   * unchanged; which of the two may depend on where a batch ends, their sum and everything else does not.
   */
  repeatsChanged = 0;
  repeatsSame = 0;
  /** Lines of people who are on the list just as the line says; nothing else is kept of these. */
  same = 0;
  /** The stretch of the file: offsets of its first byte, and of the byte behind its last. */
  start = 0;
  end = 0;
  readonly #options: BatchOptions;
  readonly #packer: RecordPacker;
  readonly #comparer: RecordComparer | undefined;
  /** What a row is beside who was on the list: rows that are not here are new. */
  readonly #comparisons = new Map<number, Comparison>();

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#packer = new RecordPacker(options.reader);
    this.#comparer = options.members && new RecordComparer(options.members, options.reader);
    this.people = new PackedPeople(options.frame, options.linesMax + 1);
  }

  /** Empties it for the next part of the file. */
  begin(offset: number): void {
    this.people.clear();
    this.rejections = [];
    this.repeatsChanged = 0;
    this.repeatsSame = 0;
    this.same = 0;
    this.#comparisons.clear();
    this.start = offset;
    this.end = offset;
  }

  /** Lines with something in them. */
  get processed(): number {
    return this.people.count + this.rejections.length + this.repeatsChanged + this.repeatsSame + this.same;
  }

  get isFull(): boolean {
    return this.processed >= this.#options.linesMax;
  }

  /** What the row is beside who was on the list before. */
  comparison(row: number): Comparison {
    return this.#comparisons.get(row) ?? 'absent';
  }

  /** Takes in the scanner's record. */
  add(scanner: CsvScanner): void {
    this.end = scanner.end;
    // Rejected with its beginning.
    if (scanner.continues) return;
    const compared = this.#comparer?.compare(scanner);
    if (compared === 'same') {
      this.same++;
      return;
    }
    if (this.#packer.pack(scanner, this.people)) return this.#keepComparison(compared);
    const record = scanner.record();
    const person = this.#options.reader.read(record);
    if (person === undefined) return;
    if (typeof person === 'string') this.rejections.push({ line: record.line, reason: person, cells: record.cells });
    else this.#addPerson(person);
  }

  #addPerson(person: Person): void {
    const row = this.people.find(person.key);
    if (row === undefined) return this.#put(person);
    const merged = this.#options.updateExisting ? mergePerson(this.people.unpack(row), person) : undefined;
    if (!merged?.isNew) {
      this.repeatsSame++;
      return;
    }
    this.#put(merged.person);
    this.repeatsChanged++;
  }

  #put(person: Person): void {
    this.people.put(person);
    this.#keepComparison(undefined);
  }

  /** Keeps what the row that was taken in last is beside the list, compared already or not. */
  #keepComparison(compared: Comparison | undefined): void {
    const { people } = this;
    const comparison = compared ?? this.#options.members?.compare(people, people.last) ?? 'absent';
    if (comparison !== 'absent') this.#comparisons.set(people.last, comparison);
  }
}
