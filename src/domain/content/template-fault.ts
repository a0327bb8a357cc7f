/** The errors of a template that cannot be run, and how one that ran too long differs from other faults. */
import { messageOf, ValidationError } from '../../lib/errors.ts';
import { fieldLabel } from '../../lib/text.ts';

export const FAULT_CODE = 'TEMPLATE_FAULT';
/** Code of a template that took too long or too much memory and was stopped. */
export const RUNAWAY_CODE = 'TEMPLATE_RUNAWAY';

/** A fault of the message's part of this name, reported on its field. */
export function templateFault(part: string, text: string, { isRunaway = false } = {}): ValidationError {
  const message = `The template of the ${fieldLabel(part)} has a fault. ${text}`;
  return new ValidationError({ [part]: [text] }, isRunaway ? RUNAWAY_CODE : FAULT_CODE, message);
}

/** A header that only this recipient's values make too long. */
const HEADER_TOO_LONG_CODE = 'HEADER_TOO_LONG';

export function headerTooLong(part: string, length: number, lengthMax: number): ValidationError {
  const text = `The ${fieldLabel(part)} has ${length} characters with the recipient's values; at most ${lengthMax} are allowed.`;
  return new ValidationError({ [part]: [text] }, HEADER_TOO_LONG_CODE, text);
}

export function isHeaderTooLong(error: unknown): error is ValidationError {
  return error instanceof ValidationError && error.code === HEADER_TOO_LONG_CODE;
}

export function isRunaway(error: unknown): error is ValidationError {
  return error instanceof ValidationError && error.code === RUNAWAY_CODE;
}

/** What is wrong with a message, as its author reads it. */
export function faultSentence(error: unknown): string {
  return error instanceof ValidationError ? Object.values(error.fields).flat().join(' ') : messageOf(error);
}
