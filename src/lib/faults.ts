/** Gathers what several checks of one kind find fault with, so that one answer tells all of it. */
import { ValidationError } from './errors.ts';

/** Faults of one code; whatever else is thrown goes through at once. */
export class Faults {
  readonly #code: string;
  readonly #errors: ValidationError[] = [];

  constructor(code: string) {
    this.#code = code;
  }

  /** What `work` answers; `instead`, when it finds a fault, which `check` then tells. */
  async gather<T>(work: () => T | Promise<T>, instead: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ValidationError) || error.code !== this.#code) throw error;
      this.#errors.push(error);
      return instead;
    }
  }

  /** Throws one ValidationError on all fields that had a fault. */
  check(): void {
    const [first] = this.#errors;
    if (!first) return;
    const fields = Object.assign({}, ...this.#errors.map((error) => error.fields));
    throw new ValidationError(fields, first.code, this.#errors.map(({ message }) => message).join(' '));
  }
}
