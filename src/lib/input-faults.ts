/**
 * Collects the faults of a request from several checks, so that one answer contains all of them: wrong fields, also where another
 * check refuses the state of the thing.
 */
import type { z } from 'zod';
import { ForeignResourceError, NotFoundError, ValidationError, WrongStateError, type FieldErrors } from './errors.ts';
import { checkInput } from './text.ts';

/** The field under which a wrong state stands beside wrong fields; REST names it so, too. */
const STATE = 'status';

export class InputFaults {
  readonly #fields = new Map<string, readonly string[]>();
  /** What was thrown: alone, it is thrown again as it was. */
  readonly #thrown: (ValidationError | WrongStateError | NotFoundError | ForeignResourceError)[] = [];
  #isPlain = true;

  add(fields: FieldErrors): void {
    this.#isPlain &&= Object.keys(fields).length === 0;
    this.#merge(fields);
  }

  /** The result of `schema`, or undefined with its faults recorded. */
  read<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> | undefined {
    const { data, errors } = checkInput(schema, input);
    if (errors) this.add(errors);
    return data;
  }

  /** The same for changes: what is right of them, without the fields that are wrong. */
  readRight<Schema extends z.ZodType>(schema: Schema, input: object): z.output<Schema> {
    const { data, errors } = checkInput(schema, input);
    if (!errors) return data;
    this.add(errors);
    const wrong = new Set(Object.keys(errors).map((field) => field.split('.', 1)[0]));
    const right = Object.entries(input).filter(([name]) => !wrong.has(name));
    const rest = checkInput(schema, Object.fromEntries(right));
    // A rule over several fields: nothing can be said about the others.
    if (rest.errors) this.check();
    return rest.data ?? schema.parse({});
  }

  /** The result of `read`; a ValidationError of it is recorded. */
  catch<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#record(error);
      return undefined;
    }
  }

  /**
   * The result of `work`; a ValidationError or a WrongStateError of it is recorded, and a NotFoundError or a ForeignResourceError
   * under the field that names the thing, if that is given.
   */
  async gather<T>(work: () => Promise<T>, field?: string): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#record(error, field);
      return undefined;
    }
  }

  /**
   * Throws the only error that was recorded, or a ValidationError with all. `areMore`: the caller knows of further faults, so the
   * only one is no answer by itself.
   */
  check({ areMore = false }: { areMore?: boolean | undefined } = {}): void {
    const [first, ...others] = this.#thrown;
    if (first && this.#isPlain && others.length === 0 && !areMore) throw first;
    if (this.#fields.size === 0) return;
    const all = new ValidationError(Object.fromEntries(this.#fields));
    // Among others, too, a thing of another tenant is answered like one that nobody has.
    const foreign = this.#thrown.find((error) => error instanceof ForeignResourceError);
    throw foreign ? new ForeignResourceError(foreign.code, foreign.message, all) : all;
  }

  #record(error: unknown, field?: string): void {
    if (error instanceof ValidationError) this.#merge(error.fields);
    else if (error instanceof WrongStateError) this.#merge({ [STATE]: [error.message] });
    else if (isUnknown(error) && field !== undefined) this.#merge({ [field]: [error.message] });
    else throw error;
    this.#thrown.push(error);
  }

  #merge(fields: FieldErrors): void {
    for (const [name, messages] of Object.entries(fields))
      this.#fields.set(name, [...(this.#fields.get(name) ?? []), ...messages]);
  }
}

function isUnknown(error: unknown): error is NotFoundError | ForeignResourceError {
  return error instanceof NotFoundError || error instanceof ForeignResourceError;
}
