/** Collects the faults that several checks find, so that one answer contains all of them. */
import { ValidationError } from './errors.ts';

/** Collects errors of one code; all other errors are thrown at once. */
export class Faults {
  readonly #code: string;
  readonly #errors: ValidationError[] = [];

  constructor(code: string) {
    this.#code = code;
  }

  /** The result of `work`, or `instead` when it finds a fault, which `check` throws later. */
  async gather<T>(work: () => T | Promise<T>, instead: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ValidationError) || error.code !== this.#code) throw error;
      this.#errors.push(error);
      return instead;
    }
  }

  /** Throws one ValidationError with all fields that had a fault, each with its first one. */
  check(): void {
    const remaining = this.#errors.filter(({ fields }, index) => {
      const namedEarlier = this.#errors.slice(0, index).flatMap((earlier) => Object.keys(earlier.fields));
      return Object.keys(fields).some((field) => !namedEarlier.includes(field));
    });
    if (remaining.length === 0) return;
    const fields = Object.assign({}, ...remaining.toReversed().map((error) => error.fields));
    throw new ValidationError(fields, this.#code, remaining.map(({ message }) => message).join(' '));
  }
}
