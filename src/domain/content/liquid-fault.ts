/** What is said of a template that cannot be run, and how a runaway is told from a mere fault. */
import { ValidationError } from '../../lib/errors.ts';
import type { PartName } from './template-marks.ts';

/** Code of a template that took too long or too much memory and was stopped. */
export const RUNAWAY_CODE = 'TEMPLATE_RUNAWAY';

export function templateFault(part: PartName, text: string, { isRunaway = false } = {}): ValidationError {
  const message = `The template of "${part}" has a fault. ${text}`;
  return new ValidationError({ [part]: [text] }, isRunaway ? RUNAWAY_CODE : 'TEMPLATE_FAULT', message);
}

export function isRunaway(error: unknown): error is ValidationError {
  return error instanceof ValidationError && error.code === RUNAWAY_CODE;
}
